"use strict";
// The search of a site: by words and their beginnings, in titles, tags and texts.
{
  const { between, fold, instant, list, refused } = cstp.site;

  const SLICE = 250; // entries that are indexed before the browser may draw again
  const SNIPPET = 300; // characters
  const LEAD = 40; // characters of it before the first of the words
  const KINDS = ["decision", "chunk", "extraction", "episode"];
  const LONG = 5; // letters of a word that may be misspelt
  const OPTIONS = {
    fields: ["title", "tags", "text"],
    searchOptions: { boost: { title: 3, tags: 2 }, prefix: (word) => word.length > 2 },
  };

  const WORDS = 12; // a longer query is a text, of which every word is taken as it is

  /** The entries, each at its place in the index, which is made when one searches first. */
  const index = () =>
    list("search", async (entries) => {
      await cstp.library("minisearch.js");
      const words = new MiniSearch(OPTIONS);
      const documents = entries.map(({ title = "", tags, text }, id) => ({ id, title, tags: tags.join(" "), text }));
      await words.addAllAsync(documents, { chunkSize: SLICE });
      return { entries, words };
    });

  /** What is found of the entries that are accepted, best first: [{ entry, score, terms }]. */
  async function found(query, accepts) {
    const { entries, words } = await index();
    // a word that is nowhere stands for those that are spelt nearly so
    const fuzzy = (word) => (word.length >= LONG && !words.search(word).length ? 0.2 : false);
    const options = query.split(/\s+/).length > WORDS ? { prefix: false } : { fuzzy };
    return words
      .search(query, { ...options, filter: ({ id }) => accepts(entries[id]) })
      .map(({ id, score, terms }) => ({ entry: entries[id], score, terms }));
  }

  const hasTag = (entry, tag) => entry.tags.some((its) => fold(its) === fold(tag));

  /** The part of a text with the most of the words that were found, whole words, with its line breaks, as it is Markdown. */
  function snippet(text, words) {
    const line = text.replace(/[^\S\n]+/g, " ").replace(/\n\s*\n/g, "\n\n").trim();
    if (line.length <= SNIPPET) return line;
    const lowered = line.toLowerCase();
    const places = [];
    for (const word of words) {
      for (let at = lowered.indexOf(word); at >= 0 && places.length < 500; at = lowered.indexOf(word, at + word.length)) {
        places.push([at, word]);
      }
    }
    places.sort(([one], [other]) => one - other);
    const within = (start) => new Set(places.filter(([at]) => at >= start && at < start + SNIPPET - LEAD).map(([, word]) => word)).size;
    let [best, most] = [0, 0];
    for (const [at] of places) {
      const many = within(at);
      if (many > most) [best, most] = [at, many];
    }
    const start = best < LEAD ? 0 : line.indexOf(" ", best - LEAD) + 1;
    const cut = line.lastIndexOf(" ", start + SNIPPET);
    const end = start + SNIPPET >= line.length ? line.length : cut > start ? cut : start + SNIPPET;
    return `${start > 0 ? "… " : ""}${line.slice(start, end)}${end < line.length ? " …" : ""}`;
  }

  async function search({ query, limit = 10, mode, kinds, project, tags = [], sensitivity, source, dateFrom, dateTo }) {
    const began = performance.now();
    const empty = kinds?.every((kind) => !KINDS.includes(kind)); // of the memory a site has nothing
    if (mode === "semantic" && !empty) throw refused("A site finds words; to search by meaning needs a server.");
    const accepts = (one) =>
      (!kinds || kinds.includes(one.type)) &&
      (!project || one.project === project) &&
      (!sensitivity || one.sensitivity === sensitivity) &&
      (!source || (one.system !== undefined && fold(one.system) === fold(source))) &&
      tags.every((tag) => hasTag(one, tag)) &&
      between(instant(one.date), dateFrom, dateTo);
    const results = empty ? [] : (await found(query, accepts)).slice(0, limit).map(({ entry, terms }) => {
      const { type, id, title = null, text, source: from = null, sourceId = null, date = null } = entry;
      // scores of words cannot be compared with those of a server, so there is none
      return { type, id, title, snippet: snippet(text, terms), score: null, source: from, sourceId, date };
    });
    return { results, queryTimeMs: Math.round(performance.now() - began) };
  }

  async function findEpisodes({ query, limit = 10, minReward, maxReward, tags = [] }) {
    const byId = new Map((await list("episodes")).map((one) => [one.id, one]));
    const wanted = ({ type, id }) => {
      if (type !== "episode") return false;
      const { reward, tags: its } = byId.get(id);
      return reward >= (minReward ?? -1) && reward <= (maxReward ?? 1) && tags.every((tag) => its.includes(tag));
    };
    const episodes = (await found(query, wanted)).slice(0, limit).map(({ entry, score }) => {
      const { id, query: tried, reward, reflection, createdAt, tags: its, category } = byId.get(entry.id);
      return { id, query: tried, reward, reflection, createdAt, tags: its, category, score, distance: null };
    });
    return { episodes, total: episodes.length, query, mode: "keyword" };
  }

  /** The extractions by their ids, each with its type. */
  async function extractions() {
    const lists = [["decision", "extracted"], ["pattern", "patterns"], ["warning", "warnings"]];
    const all = await Promise.all(lists.map(async ([type, name]) => (await list(name)).map((row) => [row.id, { type, row }])));
    return new Map(all.flat());
  }

  async function knowledge({ entry, score }, extracted) {
    const cited = entry.source === undefined ? null : { sourceId: entry.sourceId ?? null, title: entry.source };
    const known = { id: entry.id, type: entry.type, title: entry.title ?? null, topics: entry.tags, score, distance: null, source: cited };
    if (entry.type === "chunk") {
      const { content, chunkInfo } = await cstp.site.methods["cstp.getChunk"]({ chunkId: entry.id });
      return { ...known, extractionType: null, content, chunkId: entry.id, chunkInfo };
    }
    const { type, row } = extracted.get(entry.id);
    return { ...known, extractionType: type, content: row, chunkId: row.chunkId, chunkInfo: null };
  }

  async function searchKnowledge({ query, filters = {}, limit = 10, mode }) {
    if (mode === "semantic") throw refused("A site finds words; to search by meaning needs a server.");
    const began = performance.now();
    const extracted = await extractions();
    const { topic, source } = filters;
    const types = [].concat(filters.type ?? []);
    const accepts = (one) =>
      ["chunk", "extraction"].includes(one.type) &&
      (!types.length || types.includes(one.type) || types.includes(extracted.get(one.id)?.type)) &&
      (!topic || hasTag(one, topic)) &&
      (!source || one.sourceId === source || (one.source !== undefined && fold(one.source) === fold(source)));
    const best = await found(query, accepts);
    if (source) {
      // of one source all comes back, as it does where a server searches by meaning
      const there = new Set(best.map(({ entry }) => entry));
      const { entries } = await index();
      best.push(...entries.filter((one) => accepts(one) && !there.has(one)).map((entry) => ({ entry, score: 0 })));
    }
    const results = await Promise.all(best.slice(0, limit).map((one) => knowledge(one, extracted)));
    const sourcesCited = [...new Set(results.flatMap((one) => (one.source ? [one.source.title] : [])))].sort();
    const metadata = { query, sourcesCited, resultCount: results.length, searchType: "keyword" };
    return { results, metadata, queryTimeMs: Math.round(performance.now() - began) };
  }

  Object.assign(cstp.site.methods, {
    "cstp.search": search,
    "cstp.findEpisodes": findEpisodes,
    "cstp.searchKnowledge": searchKnowledge,
  });
}
