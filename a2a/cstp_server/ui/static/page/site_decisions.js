"use strict";
// Decisions of a site: lists, statistics, one whole, and the links between them, as a server answers.
{
  const { between, fold, instant, list, missing, needsServer, now, page, part, refused } = cstp.site;

  const ENDED = ["superseded", "deprecated", "rejected"]; // what is not in force
  const RANKS = ["low", "medium", "high", "critical"]; // of stakes; all others come after these
  const NAMES = 100;
  const TAGS = 50;
  const DAYS = 366;
  const DAY = 86_400_000;
  const LINKS = 2000;

  const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

  /** The rows of all decisions, newest first by date, then by id; and each of them by its id. */
  const decisions = () =>
    list("decisions", (entries) => {
      const rows = entries.map(({ listed, file, validTo }, place) => ({
        one: listed,
        file,
        place,
        at: instant(listed.date),
        due: instant(listed.reviewBy),
        until: ENDED.includes(listed.status) ? "" : instant(validTo),
        tags: listed.tags.map(fold),
      }));
      rows.sort((row, other) => order(other.at ?? "", row.at ?? "") || order(row.one.id, other.one.id));
      return { rows, byId: new Map(rows.map((row) => [row.one.id, row])) };
    });

  const isCurrent = (row, moment) => row.until === null || row.until > moment;
  const isOverdue = (row, moment) => row.due !== null && row.due < moment && row.one.outcome === null && row.one.status !== "superseded";
  const same = (its, wanted) => wanted === undefined || (its !== null && fold(its) === fold(wanted));
  const equal = (its, wanted) => wanted === undefined || its === wanted;

  function accepted(rows, { category, stakes, status, agent, tags = [], project, hasOutcome, current, overdue, dateFrom, dateTo }) {
    const moment = now();
    const wanted = tags.map(fold);
    return rows.filter(
      (row) =>
        same(row.one.category, category) &&
        same(row.one.stakes, stakes) &&
        same(row.one.status, status) &&
        equal(row.one.recordedBy, agent) &&
        equal(row.one.project, project) &&
        equal(row.one.outcome !== null, hasOutcome) &&
        wanted.every((tag) => row.tags.includes(tag)) &&
        (!current || isCurrent(row, moment)) &&
        equal(isOverdue(row, moment), overdue) &&
        between(row.at, dateFrom, dateTo),
    );
  }

  const lowered = (text) => (text === null ? null : fold(text));

  /** What each order compares; null is last either way. */
  const KEYS = {
    date: (row) => row.at,
    recordedAt: (row) => row.place,
    reviewBy: (row) => row.due,
    confidence: (row) => row.one.confidence,
    category: (row) => lowered(row.one.category),
    status: (row) => lowered(row.one.status),
    stakes: (row) => {
      const its = lowered(row.one.stakes);
      if (its === null) return null;
      const rank = RANKS.indexOf(its);
      return `${rank < 0 ? RANKS.length : rank} ${its}`;
    },
  };

  function sorted(rows, by, ascending) {
    const key = KEYS[by];
    if (!key) throw refused(`sort: must be one of ${Object.keys(KEYS).join(", ")}`);
    const keyed = rows.map((row) => [key(row), row]);
    const known = keyed.filter(([value]) => value !== null);
    known.sort(([one], [other]) => (ascending ? order(one, other) : order(other, one))); // equal ones stay as they are
    return [...known, ...keyed.filter(([value]) => value === null)].map(([, row]) => row);
  }

  async function listDecisions({ limit = 20, offset = 0, sort = "date", order: direction = "desc", ...filters }) {
    const found = sorted(accepted((await decisions()).rows, filters), sort, direction === "asc");
    return { decisions: page(found, { offset, limit }).map((row) => row.one), total: found.length, limit, offset };
  }

  function counted(values) {
    const counts = new Map();
    for (const value of values) if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts].sort(([one, many], [other, more]) => more - many || order(one, other));
  }

  async function getStats({ dateFrom, dateTo, project }) {
    const found = accepted((await decisions()).rows, { dateFrom, dateTo, project });
    const moment = now();
    const since = (days) => instant(new Date(Date.now() - days * DAY).toISOString());
    const recent = (days) => found.filter((row) => row.at !== null && row.at > since(days) && row.at <= moment).length;
    const names = (of) => Object.fromEntries(counted(found.map(of)).slice(0, NAMES));
    const days = counted(found.map((row) => row.at?.slice(0, 10) ?? null)).sort(([one], [other]) => order(one, other));
    return {
      total: found.length,
      current: found.filter((row) => isCurrent(row, moment)).length,
      superseded: found.filter((row) => same(row.one.status, "superseded")).length,
      overdue: found.filter((row) => isOverdue(row, moment)).length,
      byCategory: names((row) => lowered(row.one.category)),
      byStakes: names((row) => lowered(row.one.stakes)),
      byStatus: names((row) => lowered(row.one.status)),
      byAgent: names((row) => row.one.recordedBy),
      byDay: days.slice(-DAYS).map(([date, count]) => ({ date, count })),
      topTags: counted(found.flatMap((row) => [...new Set(row.tags)])).slice(0, TAGS).map(([tag, count]) => ({ tag, count })),
      recentActivity: { last24h: recent(1), last7d: recent(7), last30d: recent(30) },
    };
  }

  async function getDecision({ id, knownAt, includeHistory = true, includeReviews = true, includeLinks = true }) {
    if (knownAt) throw needsServer("cstp.getDecision with knownAt");
    const row = (await decisions()).byId.get(id);
    if (!row) throw missing(id);
    const decision = { ...(await part("texts", row.file)).find((one) => one.id === id) };
    if (!includeHistory) {
      delete decision.history;
      delete decision.endedLinks;
    }
    if (!includeReviews) delete decision.reviews;
    if (!includeLinks) delete decision.links;
    return { found: true, decision };
  }

  /** All links, and those of each decision, by its id. */
  const links = () =>
    list("links", (edges) => {
      const of = new Map();
      for (const edge of edges) {
        for (const id of [edge.sourceId, edge.targetId]) {
          if (!of.has(id)) of.set(id, []);
          of.get(id).push(edge);
        }
      }
      return of;
    });

  function neighbours(edges, id, direction) {
    const found = [];
    for (const edge of edges) {
      if (edge.sourceId === id && direction !== "incoming") found.push(edge.targetId);
      if (edge.targetId === id && direction !== "outgoing") found.push(edge.sourceId);
    }
    return found;
  }

  async function getGraph({ nodeId, depth = 2, edgeTypes, direction = "both", limit = 200 }) {
    const { byId } = await decisions();
    if (!byId.has(nodeId)) throw missing(nodeId);
    const of = await links();
    const wanted = (id) => (of.get(id) ?? []).filter((edge) => !edgeTypes || edgeTypes.includes(edge.edgeType));
    const found = new Map([[nodeId, 0]]);
    let latest = [nodeId];
    let truncated = false;
    for (let step = 1; step <= depth && latest.length; step += 1) {
      const next = new Set(latest.flatMap((id) => neighbours(wanted(id), id, direction)));
      const near = [...next].filter((id) => byId.has(id) && !found.has(id)).sort();
      const room = limit - found.size;
      truncated ||= near.length > room;
      latest = near.slice(0, room);
      latest.forEach((id) => found.set(id, step));
    }
    const inside = new Set([...found.keys()].flatMap(wanted).filter((edge) => found.has(edge.sourceId) && found.has(edge.targetId)));
    const name = (edge) => [edge.sourceId, edge.edgeType, edge.targetId];
    const edges = [...inside].sort((one, other) => name(one).reduce((so, part_, at) => so || order(part_, name(other)[at]), 0));
    truncated ||= edges.length > LINKS;
    const nodes = [...found].map(([id, far]) => {
      const { title, category, confidence, stakes, status, outcome, date, dateSource } = byId.get(id).one;
      return { id, title, category, confidence, stakes, status, outcome, date, dateSource, depth: far };
    });
    return { centerId: nodeId, depth, nodes, edges: edges.slice(0, LINKS), truncated };
  }

  Object.assign(cstp.site.methods, {
    "cstp.listDecisions": listDecisions,
    "cstp.getStats": getStats,
    "cstp.getDecision": getDecision,
    "cstp.getGraph": getGraph,
  });
}
