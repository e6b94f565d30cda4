"use strict";
// What the graph is made of: answers of several methods become records, names and the links between them.
{
  const SHOWN = 60; // records at first, and how many each "more" adds
  const MOST = 200; // what one cstp.getGraph answers
  const FIRST_DECISIONS = 36; // of the records that the start shows; the rest is memory
  const CANDIDATES = 16; // decisions of which the start asks for links; each call costs 2 of the agent's limit
  const CONTEXTS = ["meeting", "email", "document", "note"];

  /** Kinds of links, in words from both ends; each has its own colour, pattern of the line, and mark at its end. */
  const KINDS = {
    supersedes: { label: "supersedes", back: "superseded by", colour: "series-1", dash: [], end: "triangle" },
    depends_on: { label: "depends on", back: "needed by", colour: "series-2", dash: [9, 4], end: "vee" },
    relates_to: { label: "relates to", back: "relates to", colour: "muted", dash: [2, 4], end: "none" },
    contradicts: { label: "contradicts", back: "contradicted by", colour: "bad", dash: [9, 3, 2, 3], end: "tee" },
    refines: { label: "refines", back: "refined by", colour: "good", dash: [], end: "circle" },
    caused_by: { label: "caused by", back: "cause of", colour: "series-3", dash: [14, 4], end: "triangle" },
    blocks: { label: "blocks", back: "blocked by", colour: "bad", dash: [], end: "square" },
    part_of: { label: "part of", back: "has the part", colour: "muted", dash: [], end: "diamond" },
    actor: { label: "by", back: "took part in", colour: "series-2", dash: [], end: "none" },
    subject: { label: "about", back: "subject of", colour: "series-3", dash: [5, 4], end: "none" },
    names: { label: "names", back: "named by", colour: "control", dash: [2, 3], end: "none" },
    leads_to: { label: "leads to", back: "reached from", colour: "good", dash: [9, 3, 2, 3], end: "vee" },
  };
  const OF_DECISIONS = ["supersedes", "depends_on", "relates_to", "contradicts", "refines", "caused_by", "blocks"];

  const cut = (text, length) => {
    const line = (text ?? "").replace(/\s+/g, " ").trim();
    if (line.length <= length) return line;
    const part = line.slice(0, length - 1);
    const space = part.lastIndexOf(" "); // whole words, unless the last one is long
    return `${part.slice(0, space > length * 0.6 ? space : length).trimEnd()}…`;
  };
  const cleaned = (name) => name.trim().toLowerCase();

  /** What an item of cstp.recall names: actors and subjects of events, participants, speakers. */
  function refsOf({ metadata, events = [] }) {
    const of = (one) => [...(one.actors ?? []).map((actor) => actor.ref), ...(one.subject ? [one.subject.ref] : [])];
    return [...of(metadata), ...(metadata.participants ?? []), ...(metadata.speaker ? [metadata.speaker] : []), ...events.flatMap(of)];
  }

  const asTurn = (turn, conversationId) => ({
    id: turn.id, type: "artifact", content: turn.content, context: "conversation", events: [],
    metadata: { ...turn, conversationId, participants: [] },
  });

  async function aroundConversation(call, id, signal) {
    const answer = await call("cstp.recall", { conversationId: id, limit: 50 }, signal);
    const left = answer.totalTurns - answer.turns.length;
    return {
      results: answer.turns.map((turn) => asTurn(turn, id)), related: [], entities: [],
      note: left > 0 ? `Of the turns of ${id} the latest ${answer.turns.length} are shown; ${cstp.count(left)} are left out.` : null,
    };
  }

  /** The records that name someone or something: those among the nearest 30 that do. */
  async function aroundName(call, { title, names }, signal) {
    const known = new Set([title, ...names].map(cleaned));
    const answer = await call("cstp.recall", { query: title, limit: 30, expand: false }, signal);
    const results = answer.results.filter((one) => refsOf(one).some((ref) => known.has(cleaned(ref))));
    return { results, related: [], entities: answer.entities, note: null };
  }

  /** The neighbourhood of a record of memory; the deeper, the more related records. */
  async function aroundMemory(call, id, depth, signal) {
    const params = { id, graphBudget: Math.floor((depth - 1) * 12.5), graphFilters: ["*"], includeEntities: true, limit: 50 };
    const answer = await call("cstp.recall", params, signal);
    const [centre] = answer.results;
    const parent = centre?.metadata.artifactId;
    const known = answer.related.some((one) => one.id === parent);
    if (centre?.type !== "event" || !parent || known) return { ...answer, note: null };
    const whole = await call("cstp.recall", { id: parent, expand: false, limit: 20 }, signal);
    return { ...answer, results: [...answer.results, ...whole.results], entities: [...answer.entities, ...whole.entities], note: null };
  }

  /** The neighbourhood of a decision; `kinds` of links where not all are to be followed. */
  async function aroundDecision(call, id, { depth, direction }, kinds, signal) {
    const params = { nodeId: id, depth, direction, edgeTypes: kinds, limit: MOST };
    const answer = await call("cstp.getGraph", params, signal);
    const note = answer.truncated ? `More than ${MOST} decisions are this near: the nearest were asked for.` : null;
    return { ...answer, note };
  }

  /**
   * What is around a node of the graph, or around a record that is named by its id alone. `once(params, ask)` remembers
   * answers. The kinds of links that are chosen matter to the server only where it had to leave out decisions.
   */
  async function around(call, node, { depth, direction, kinds }, once, signal) {
    const { id, type } = node;
    if (type === "conversation") return once([type, id], () => aroundConversation(call, id, signal));
    if (type === "name") return once([type, id], () => aroundName(call, node, signal));
    const recalled = () => once(["memory", id, depth], () => aroundMemory(call, id, depth, signal));
    if (/^(art_|evt_)/.test(id)) return recalled();
    const linked = (given) =>
      once(["decision", id, depth, direction, given], () => aroundDecision(call, id, { depth, direction }, given, signal));
    try {
      const whole = await linked(null);
      const chosen = OF_DECISIONS.filter((kind) => kinds.includes(kind));
      return await (whole.truncated && chosen.length && chosen.length < OF_DECISIONS.length ? linked(chosen) : whole);
    } catch (error) {
      if (error.code !== -32007) throw error;
      return recalled();
    }
  }

  /** Links among the newest decisions: those that are superseded have one for certain. */
  async function newestDecisions(call, signal) {
    const [superseded, newest] = await Promise.all([
      call("cstp.listDecisions", { status: "superseded", limit: CANDIDATES / 2 }, signal),
      call("cstp.listDecisions", { limit: CANDIDATES }, signal),
    ]);
    const ids = [...new Set([...superseded.decisions, ...newest.decisions].map((one) => one.id))].slice(0, CANDIDATES);
    const answers = [];
    const seen = new Set();
    while (ids.length && seen.size < FIRST_DECISIONS) {
      const next = ids.splice(0, 2).filter((id) => !seen.has(id)); // few at a time: others wait for the same threads
      const found = await Promise.all(next.map((id) => call("cstp.getGraph", { nodeId: id, depth: 2, limit: FIRST_DECISIONS }, signal)));
      for (const answer of found.filter((one) => one.edges.length)) {
        answers.push({ ...answer, note: null });
        for (const node of answer.nodes) seen.add(node.id);
      }
    }
    return answers;
  }

  /** A graph to begin with: links of the newest decisions, and what the newest records of memory name. */
  async function start(call, signal) {
    const answers = await newestDecisions(call, signal);
    const params = { limit: 8, expand: false, includeEntities: true };
    const memory = await Promise.all(CONTEXTS.map((context) => call("cstp.recall", { ...params, context }, signal)));
    return [...answers, ...memory.map((one) => ({ ...one, related: [], note: null }))];
  }

  /** A graph that grows: nodes by their keys, and links once each. */
  function growing() {
    const nodes = new Map();
    const links = new Map();
    const names = new Map(); // each spelling of an entity, to its key
    const put = (key, node) => {
      const known = nodes.get(key);
      if (!known || known.stub) nodes.set(key, { key, stub: false, ...node });
    };
    const link = (from, to, kind, note = null) => {
      if (from !== to) links.set(`${from}\n${to}\n${kind}`, { key: `${from}\n${to}\n${kind}`, from, to, kind, note });
    };
    const linked = (from, to) => Object.keys(KINDS).some((kind) => links.has(`${from}\n${to}\n${kind}`));
    const named = (ref) => {
      const key = names.get(cleaned(ref)) ?? `name ${cleaned(ref)}`;
      put(key, { type: "name", id: ref, title: ref, names: [], facts: [] });
      return key;
    };
    return { nodes, links, names, put, link, linked, named };
  }

  function addEntities(graph, entities) {
    for (const one of entities) {
      const key = `entity ${one.id}`;
      for (const spelling of [one.id, one.name, ...one.aliases]) graph.names.set(cleaned(spelling), key);
      const facts = [["Role", one.role], ["Organisation", one.organization], ["Mentions", cstp.count(one.mentionCount)]];
      graph.put(key, { type: "name", word: one.type, id: one.id, title: one.name, names: [one.id, ...one.aliases], facts });
    }
  }

  function addDecisions(graph, { nodes, edges }) {
    for (const one of nodes) {
      const facts = [["Category", one.category], ["Stakes", one.stakes], ["Confidence", one.confidence], ["Outcome", one.outcome]];
      graph.put(one.id, { type: "decision", id: one.id, title: one.title, status: one.status, date: one.date, facts });
    }
    for (const one of edges) graph.link(one.sourceId, one.targetId, one.edgeType, one.context);
  }

  function addEvent(graph, { id, category, narrative, eventTime, confidence, actors, subject }, artifactId) {
    const facts = [["Category", category], ["Confidence", confidence]];
    graph.put(id, { type: "event", id, title: narrative, date: eventTime, facts });
    if (artifactId && !graph.nodes.has(artifactId)) {
      graph.put(artifactId, { type: "artifact", id: artifactId, title: artifactId, facts: [] });
      graph.nodes.get(artifactId).stub = true;
    }
    if (artifactId) graph.link(id, artifactId, "part_of");
    for (const actor of actors) graph.link(id, graph.named(actor.ref), "actor", actor.role);
    if (subject) graph.link(id, graph.named(subject.ref), "subject");
  }

  /** One item of cstp.recall. */
  function addItem(graph, { id, type, content, context, metadata, events = [] }) {
    if (type === "event") {
      addEvent(graph, { id, narrative: content, ...metadata }, metadata.artifactId);
      return;
    }
    if (type === "decision") {
      graph.put(id, { type, id, title: metadata.title, status: metadata.status, date: metadata.date, facts: [["Category", metadata.category]] });
      return;
    }
    const { conversationId, speaker } = metadata;
    const turn = Boolean(conversationId);
    const title = turn ? `${speaker ?? metadata.role ?? "turn"}: ${content}` : (metadata.title ?? content);
    const facts = [["Context", context], ["Source", metadata.source], ["Author", metadata.author]];
    graph.put(id, { type: turn ? "turn" : type, id, title, date: metadata.ts, facts });
    if (turn) {
      const whole = `conversation ${conversationId}`;
      graph.put(whole, { type: "conversation", id: conversationId, title: conversationId, facts: [["Session", metadata.session]] });
      graph.link(id, whole, "part_of");
    }
    if (type === "chunk" && metadata.artifactId) graph.link(id, metadata.artifactId, "part_of");
    for (const ref of metadata.participants ?? []) graph.link(id, graph.named(ref), "names");
    if (speaker) graph.link(id, graph.named(speaker), "actor");
    for (const event of events) addEvent(graph, event, metadata.artifactId ?? id);
  }

  function addRecalled(graph, { results, related }) {
    for (const one of [...results, ...related]) addItem(graph, one);
    for (const one of related) {
      const name = graph.named(one.via);
      if (!graph.linked(one.id, name)) graph.link(one.id, name, "names");
      if (one.reason === "edge" && !graph.linked(results[0].id, name)) graph.link(results[0].id, name, "leads_to");
    }
  }

  /** All answers as one graph. An entity's names are read first, so that each spelling leads to it. */
  function merged(answers) {
    const graph = growing();
    for (const one of answers) addEntities(graph, one.entities ?? []);
    for (const one of answers) (one.nodes ? addDecisions : addRecalled)(graph, one);
    const links = [...graph.links.values()].filter((one) => graph.nodes.has(one.from) && graph.nodes.has(one.to));
    return { nodes: graph.nodes, links, notes: [...new Set(answers.map((one) => one.note).filter(Boolean))] };
  }

  function neighbours(links) {
    const found = new Map();
    for (const { from, to } of links) {
      found.set(from, [...(found.get(from) ?? []), to]);
      found.set(to, [...(found.get(to) ?? []), from]);
    }
    return found;
  }

  /** The part that is shown: along the given kinds of links, the nearest to the centre first, at most `bound` nodes. */
  function shownOf({ nodes, links }, centre, kinds, bound) {
    const followed = links.filter((one) => kinds.includes(one.kind));
    const near = neighbours(followed);
    const depths = new Map();
    const spread = (first) => {
      let edge = depths.has(first) ? [] : [first];
      for (let depth = 0; edge.length; depth++) {
        for (const key of edge) depths.set(key, depth);
        edge = [...new Set(edge.flatMap((key) => near.get(key) ?? []))].filter((key) => !depths.has(key));
      }
    };
    if (centre !== null) spread(centre);
    else [...nodes.keys()].filter((key) => near.has(key)).sort((a, b) => near.get(b).length - near.get(a).length).forEach(spread);
    const reached = [...depths].filter(([key]) => nodes.has(key));
    if (centre !== null) reached.sort((a, b) => a[1] - b[1]);
    const kept = new Set(reached.slice(0, bound).map(([key]) => key));
    return {
      nodes: [...kept].map((key) => ({ ...nodes.get(key), depth: depths.get(key), degree: (near.get(key) ?? []).length })),
      links: followed.filter((one) => kept.has(one.from) && kept.has(one.to)),
      left: reached.length - kept.size,
    };
  }

  cstp.graph = { KINDS, SHOWN, around, cut, merged, shownOf, start };
}
