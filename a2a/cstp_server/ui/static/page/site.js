"use strict";
// A site without a server: the answers of public methods, from files of data/ that are loaded when they are needed.
{
  const base = document.currentScript.src.replace(/page\/site\.js.*$/, "");
  const files = new Map(); // of "NAME-N" the records of a file, once it has been loaded
  const loading = new Map();

  /** What the files of data/ call: hands over the records of one of them, as JSON. */
  function add(name, number, json) {
    files.set(`${name}-${number}`, JSON.parse(json));
  }

  function load(path) {
    if (!loading.has(path)) {
      loading.set(
        path,
        new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = `${base}data/${path}.js`;
          script.onload = () => resolve();
          script.onerror = () => {
            loading.delete(path);
            reject(new cstp.CallError(`data/${path}.js cannot be loaded; is the folder of this site whole?`, FAILED));
          };
          document.head.append(script);
        }),
      );
    }
    return loading.get(path);
  }

  // codes of JSON-RPC, as a server has them; not 0, after which a page would ask again
  const FAILED = -32003;
  const NO_METHOD = -32601;
  const NOT_FOUND = -32007;
  const REFUSED = -32602;

  /** Who wrote the site, when, and how many files each list has. */
  async function about() {
    await load("about");
    return files.get("about-0")[0];
  }

  /** One file of a list. */
  async function part(name, number) {
    await load(`${name}-${number}`);
    return files.get(`${name}-${number}`);
  }

  const whole = new Map();

  /** All records of a list, in its order, as `make` wants them; loaded once. */
  function list(name, make = (records) => records) {
    if (!whole.has(name)) {
      const all = async () => {
        const numbers = Array.from({ length: (await about()).files[name] ?? 0 }, (_, number) => number);
        return make((await Promise.all(numbers.map((number) => part(name, number)))).flat());
      };
      whole.set(
        name,
        all().catch((error) => {
          whole.delete(name);
          throw error;
        }),
      );
    }
    return whole.get(name);
  }

  const needsServer = (method) =>
    new cstp.CallError(
      `This needs a server (${method}). A site holds decisions, episodes, what was extracted from sources, and passages.`,
      NO_METHOD,
    );
  const missing = (id) => new cstp.CallError(`There is no record ${id} in this site.`, NOT_FOUND, { id });
  const refused = (message) => new cstp.CallError(message, REFUSED);

  /** A page of a list. */
  const page = (found, { offset = 0, limit }) => found.slice(offset, offset + limit);

  /** A text to compare whatever its case, as a server folds it: ß is ss, and σ is one letter at the end of a word, too. */
  const fold = (text) => text.toUpperCase().toLowerCase().replaceAll("ς", "σ");

  /** A moment as a text that sorts by time, to the microsecond. A day is its first moment, or its last one. */
  function instant(text, { end = false } = {}) {
    if (!text) return null;
    if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T${end ? "23:59:59.999999" : "00:00:00.000000"}`;
    const moment = new Date(/(?:Z|[+-]\d{2}(?::?\d{2})?)$/i.test(text) ? text : `${text}Z`);
    if (Number.isNaN(moment.valueOf())) throw refused(`${text} is no time`);
    const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
    return `${moment.toISOString().slice(0, 19)}.${fraction.padEnd(6, "0").slice(0, 6)}`;
  }

  const now = () => instant(new Date().toISOString());

  /** Whether a moment is between two others, both inclusive; what has none is between no two. */
  function between(at, from, to) {
    if (!from && !to) return true;
    return at !== null && (!from || at >= instant(from)) && (!to || at <= instant(to, { end: true }));
  }

  // --- lists of other records than decisions

  async function listEpisodes({ limit = 50, offset = 0, since, dateFrom, dateTo, tags = [], category }) {
    const found = (await list("episodes")).filter(
      (one) =>
        between(instant(one.createdAt), dateFrom ?? since, dateTo) &&
        tags.every((tag) => one.tags.includes(tag)) &&
        (!category || one.category === category),
    );
    const summary = ({ id, query, reward, createdAt, tags: its, category: of }) => ({ id, query, reward, createdAt, tags: its, category: of });
    return { episodes: page(found, { offset, limit }).map(summary), totalCount: found.length, limit, offset, status: "success" };
  }

  async function getEpisode({ id }) {
    const found = (await list("episodes")).find((one) => one.id === id);
    if (!found) throw missing(id);
    return found;
  }

  const extracted = (name) =>
    async function ({ topic = "", limit = 100, offset = 0 }) {
      const all = await list(name);
      const found = topic ? all.filter((one) => one.topics.some((its) => fold(its) === fold(topic))) : all;
      const results = page(found, { offset, limit });
      const sourcesCited = [...new Set(results.map((one) => one.sourceTitle).filter((title) => title !== null))].sort();
      const metadata = { query: topic || "all", sourcesCited, resultCount: results.length, totalCount: found.length, searchType: "filtered" };
      return { results, metadata };
    };

  /** Where each passage is, and what a recall says of it, by its id. */
  const passages = () => list("passages", (all) => new Map(all.map((one) => [one.id, one])));

  async function getChunk({ chunkId, includeRelated = true, relatedLimit = 5 }) {
    const place = (await passages()).get(chunkId);
    if (!place) throw missing(chunkId);
    const found = (await part("passageTexts", place.file)).find((one) => one.chunkId === chunkId);
    return { ...found, relatedChunks: includeRelated ? found.relatedChunks.slice(0, relatedLimit) : [] };
  }

  /** Of the memory a site has nothing, so what is near a context is nothing; a passage is read by its id. */
  async function recall({ id, query, conversationId, context, expandNeighbors }) {
    const answer = { results: [], related: [], entities: [], totalCount: 0, selector: "context" };
    if (query || conversationId || expandNeighbors) throw needsServer("cstp.recall");
    if (!id) return context ? answer : Promise.reject(refused("one of id, query, conversationId and context must be given"));
    const chunk = await getChunk({ chunkId: id });
    const { metadata, origin, recordedBy } = (await passages()).get(id);
    const item = { id, type: "chunk", content: chunk.content, context: null, metadata, score: null, origin, recordedBy, events: [] };
    return { ...answer, results: [item], totalCount: 1, selector: "id" };
  }

  async function whoami() {
    const { agent, version } = await about();
    return { agent: "visitor", scopes: ["read"], clearance: null, projects: null, limits: [], expiresAt: null, server: { agent, version } };
  }

  /** The methods that a site answers, by name; other files add theirs. */
  const methods = {
    "cstp.listEpisodes": listEpisodes,
    "cstp.getEpisode": getEpisode,
    "cstp.getDecisions": extracted("extracted"),
    "cstp.getPatterns": extracted("patterns"),
    "cstp.getWarnings": extracted("warnings"),
    "cstp.getChunk": getChunk,
    "cstp.recall": recall,
    "cstp.whoami": whoami,
  };

  /** A function `call(method, params, signal)` as that of a server; raises CstpError for what a site cannot answer. */
  async function call(method, params = {}, signal = undefined) {
    const answer = methods[method];
    if (!answer) throw needsServer(method);
    const result = await answer(cstp.dense(params));
    if (signal?.aborted) throw new DOMException("no longer wanted", "AbortError");
    return structuredClone(result);
  }

  cstp.site = { add, about, part, list, call, methods, missing, needsServer, refused, page, fold, instant, now, between };
}
