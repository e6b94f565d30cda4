"use strict";
// What the timeline counts: periods of time, and the decisions, episodes and events of each.
{
  const DAY = 86400000;
  const EVENTS_AT_ONCE = 50; // the most that one search answers
  const SEARCHES = 16; // for the events of a view; each costs 2 of the agent's limit
  const EPISODE_PAGES = 10;
  const MOST_DAYS = 366; // of one cstp.getStats
  const CONTEXTS = ["meeting", "email", "document", "chat", "transcript", "note", "project", "conversation"];

  const at = (day) => Date.parse(`${day}T00:00:00Z`);
  const dayOf = (time) => new Date(time).toISOString().slice(0, 10);
  const today = () => dayOf(Date.now());

  /** The problem of a day in the address, or null. */
  function problemOfDay(name, value) {
    if (/^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(at(value)) && dayOf(at(value)) === value) return null;
    return `${name}: ${value} is no date such as 2026-01-31`;
  }

  const formats = {
    day: cstp.once(() => new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" })),
    whole: cstp.once(() => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" })),
    month: cstp.once(() => new Intl.DateTimeFormat(undefined, { month: "long", year: "numeric", timeZone: "UTC" })),
    shortMonth: cstp.once(() => new Intl.DateTimeFormat(undefined, { month: "short", timeZone: "UTC" })),
  };
  const spelledDay = (day) => formats.whole().format(at(day));

  /** The units of the bars: how many are shown at once, where one starts, and its name. */
  const UNITS = {
    day: {
      shown: 56,
      start: (time) => time,
      before: (start) => start - DAY,
      name: (from) => spelledDay(from),
      tick: (from) => formats.day().format(at(from)),
    },
    week: {
      shown: 52,
      start: (time) => time - ((new Date(time).getUTCDay() + 6) % 7) * DAY,
      before: (start) => start - 7 * DAY,
      name: (from, to) => `${formats.day().format(at(from))} – ${spelledDay(to)}`,
      tick: (from) => formats.day().format(at(from)),
    },
    month: {
      shown: 36,
      start: (time) => Date.UTC(new Date(time).getUTCFullYear(), new Date(time).getUTCMonth(), 1),
      before: (start) => Date.UTC(new Date(start).getUTCFullYear(), new Date(start).getUTCMonth() - 1, 1),
      name: (from) => formats.month().format(at(from)),
      tick: (from) => formats.shortMonth().format(at(from)),
    },
  };

  /** The periods of a unit that end with the one of the day `until`, the earliest first: { from, to, name, tick }. */
  function periods(unit, until) {
    const { shown, start, before, name, tick } = UNITS[unit];
    const found = [];
    let first = start(at(until));
    // the day before the next period's first is its last
    let last = unit === "day" ? first : unit === "week" ? first + 6 * DAY
      : Date.UTC(new Date(first).getUTCFullYear(), new Date(first).getUTCMonth() + 1, 0);
    for (let left = shown; left > 0; left--) {
      const [from, to] = [dayOf(first), dayOf(last)];
      found.push({ from, to, name: name(from, to), tick: tick(from) });
      last = first - DAY;
      first = before(first);
    }
    return found.reverse();
  }

  /** How many decisions each day has: a call for each 366 days that have any, so one for days and weeks. */
  async function decisionDays(call, from, to, signal) {
    const days = new Map();
    let until = to;
    while (until >= from) {
      const { byDay } = await call("cstp.getStats", { dateFrom: from, dateTo: until }, signal);
      for (const { date, count } of byDay) days.set(date, count);
      if (byDay.length < MOST_DAYS) break;
      until = dayOf(at(byDay[0].date) - DAY);
    }
    return days;
  }

  /** The newest episodes of some days, at most 1,000, and how many there are. */
  async function episodesWithin(call, from, to, signal) {
    const episodes = [];
    let total = 0;
    for (let page = 0; page < EPISODE_PAGES; page++) {
      const params = { dateFrom: from, dateTo: to, limit: 100, offset: episodes.length };
      const answer = await call("cstp.listEpisodes", params, signal);
      episodes.push(...answer.episodes);
      total = answer.totalCount;
      if (!answer.episodes.length || episodes.length >= total) break;
    }
    const note = episodes.length < total
      ? `Of ${cstp.count(total)} episodes the newest ${cstp.count(episodes.length)} are counted. Choose a shorter period.`
      : null;
    return { episodes, note };
  }

  /**
   * The events of some days. A search has at most 50, so a span with more is halved, the newest half first, until the
   * calls are used up; `note` says what is not counted.
   */
  async function eventsWithin(call, from, to, signal) {
    const found = new Map();
    const open = [[from, to]];
    let note = null;
    for (let left = SEARCHES; open.length; left--) {
      const [first, last] = open.pop();
      if (left === 0) {
        note = `Events until ${spelledDay(last)} are not all counted: there are too many. Choose a shorter period.`;
        break;
      }
      const params = { query: "event", kinds: ["event"], mode: "semantic", dateFrom: first, dateTo: last };
      const { results } = await call("cstp.search", { ...params, limit: EVENTS_AT_ONCE }, signal);
      for (const one of results) found.set(one.id, { id: one.id, at: one.date, title: one.title, text: one.snippet });
      if (results.length < EVENTS_AT_ONCE) continue;
      if (first === last) {
        note = `Of the events of ${spelledDay(first)}, ${EVENTS_AT_ONCE} are counted.`;
        continue;
      }
      const middle = dayOf(Math.floor((at(first) + at(last)) / 2 / DAY) * DAY);
      open.push([first, middle], [dayOf(at(middle) + DAY), last]);
    }
    return { events: [...found.values()], note };
  }

  /** The events of the newest records of each context: for a server that has no model to search by meaning. */
  async function eventsOfContexts(call, from, to, signal) {
    const found = new Map();
    for (const context of CONTEXTS) {
      const params = { context, dateFrom: from, dateTo: to, limit: 50, expand: false, includeEntities: false };
      const { results } = await call("cstp.recall", { ...params, includeEvents: true }, signal);
      for (const event of results.flatMap((one) => one.events)) {
        found.set(event.id, { id: event.id, at: event.eventTime, title: event.category, text: event.narrative });
      }
    }
    const note = "This server has no model to search by meaning. Events are those of the newest documents of each context "
      + `(${CONTEXTS.join(", ")}), at most 50 with their documents.`;
    return { events: [...found.values()].filter((event) => event.at), note };
  }

  async function events(call, from, to, signal) {
    try {
      return await eventsWithin(call, from, to, signal);
    } catch (error) {
      if (error.code !== -32602) throw error;
      return eventsOfContexts(call, from, to, signal); // no model: the mode "semantic" is refused
    }
  }

  /** The last day to show: today, or the day of the newest decision or episode if that is far from it. */
  async function lastDay(call, signal) {
    const [stats, newest] = await Promise.all([
      call("cstp.getStats", {}, signal),
      call("cstp.listEpisodes", { limit: 1 }, signal),
    ]);
    const days = [stats.byDay.at(-1)?.date, newest.episodes[0]?.createdAt?.slice(0, 10)].filter(Boolean).sort();
    const dated = stats.byDay.reduce((sum, { count }) => sum + count, 0);
    return { day: days.at(-1) ?? today(), undated: stats.byDay.length < MOST_DAYS ? stats.total - dated : 0 };
  }

  const KINDS = ["decisions", "events", "rewarded", "failed"];

  /** How many of each kind a period has; `failed` are episodes with a reward below 0. */
  function counted(shown, { days, episodes, events: found }) {
    const bars = shown.map(() => ({ decisions: 0, events: 0, rewarded: 0, failed: 0 }));
    const add = (day, kind, number = 1) => {
      let [low, high] = [0, shown.length - 1];
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (shown[middle].from <= day) low = middle;
        else high = middle - 1;
      }
      if (shown[low].from <= day && day <= shown[low].to) bars[low][kind] += number;
    };
    for (const [day, number] of days) add(day, "decisions", number);
    for (const one of found) add(dayOf(one.at), "events");
    for (const one of episodes) add(dayOf(one.createdAt), one.reward < 0 ? "failed" : "rewarded");
    return bars;
  }

  cstp.timeline = {
    KINDS, UNITS, at, counted, dayOf, decisionDays, episodesWithin, events, lastDay, periods, problemOfDay, spelledDay, today,
    DAY,
  };
}
