"use strict";
// The search of a site: by words, their beginnings and near spellings, in titles, tags and texts.
{
  const { between, fold, instant, list, refused } = cstp.site;

  const SLICE = 250; // entries that are indexed before the browser may draw again
  const SNIPPET = 300; // characters
  const LONG = 5; // letters of a word that may be spelt a little differently
  const OPTIONS = {
    fields: ["title", "tags", "text"],
    searchOptions: {
      boost: { title: 3, tags: 2 },
      prefix: (word) => word.length > 2,
      fuzzy: (word) => (word.length >= LONG ? 0.15 : false),
    },
  };

  /** The entries and their index, made when one searches first. */
  const index = () =>
    list("search", async (entries) => {
      await cstp.library("minisearch.js");
      const words = new MiniSearch(OPTIONS);
      const documents = entries.map(({ title = "", tags, text }, id) => ({ id, title, tags: tags.join(" "), text }));
      await words.addAllAsync(documents, { chunkSize: SLICE });
      return { entries, words };
    });

  function accepts(one, { kinds, project, tags = [], sensitivity, source, dateFrom, dateTo }) {
    return (
      (!kinds || kinds.includes(one.type)) &&
      (!project || one.project === project) &&
      (!sensitivity || one.sensitivity === sensitivity) &&
      (!source || (one.system !== undefined && fold(one.system) === fold(source))) &&
      tags.every((tag) => one.tags.map(fold).includes(fold(tag))) &&
      between(instant(one.date), dateFrom, dateTo)
    );
  }

  /** The part of a text with the most of the words that were found, whole words, as one line. */
  function snippet(text, words) {
    const line = text.replace(/\s+/g, " ").trim();
    if (line.length <= SNIPPET) return line;
    const lowered = line.toLowerCase();
    const places = [];
    for (const word of words) {
      for (let at = lowered.indexOf(word); at >= 0 && places.length < 500; at = lowered.indexOf(word, at + word.length)) places.push([at, word]);
    }
    places.sort(([one], [other]) => one - other);
    const within = (start) => new Set(places.filter(([at]) => at >= start && at < start + SNIPPET - 40).map(([, word]) => word)).size;
    let best = 0;
    let most = 0;
    for (const [at] of places) {
      const found = within(at);
      if (found > most) [best, most] = [at, found];
    }
    const start = best < 40 ? 0 : line.indexOf(" ", best - 40) + 1;
    const end = start + SNIPPET >= line.length ? line.length : line.lastIndexOf(" ", start + SNIPPET);
    return `${start > 0 ? "… " : ""}${line.slice(start, end > start ? end : start + SNIPPET)}${end < line.length ? " …" : ""}`;
  }

  async function search({ query, limit = 10, mode, ...filters }) {
    if (mode === "semantic") throw refused("A site finds words; to search by meaning needs a server.");
    const began = performance.now();
    const { entries, words } = await index();
    const found = words.search(query, { filter: ({ id }) => accepts(entries[id], filters) }).slice(0, limit);
    const results = found.map(({ id, terms }) => {
      const { type, id: of, title = null, text, source = null, date = null } = entries[id];
      // scores of words cannot be compared with those of a server, so there is none
      return { type, id: of, title, snippet: snippet(text, terms), score: null, source, sourceId: null, date };
    });
    return { results, queryTimeMs: Math.round(performance.now() - began) };
  }

  cstp.site.methods["cstp.search"] = search;
}
