"use strict";
// #/timeline: decisions, events and episodes over time; a brush chooses which are listed.
{
  const { html } = cstp;
  const { useMemo, useRef, useState } = cstp.hooks;
  const { at, dayOf, spelledDay, today, DAY } = cstp.timeline;

  const SHOWN = ["decisions", "events", "episodes"];
  const UNIT_NAMES = [["day", "Days"], ["week", "Weeks"], ["month", "Months"]];
  const LISTED = 50; // at first; each "more" adds as many
  const MOST_LISTED = 500;

  /** What the address asks for, and what is wrong with it. */
  function asked(params) {
    const problems = ["from", "to", "until"]
      .filter((name) => params[name])
      .map((name) => cstp.timeline.problemOfDay(name, String(params[name])))
      .filter(Boolean);
    const unit = params.by ?? "day";
    if (!(unit in cstp.timeline.UNITS)) problems.push(`by: ${unit} is none of day, week, month`);
    const { from, to } = params;
    if (!problems.length && from && to && from > to) problems.push("from: it is later than to");
    const off = params.off ? [].concat(params.off) : [];
    return { unit, from, to, until: params.until, off, problems };
  }

  /** The last day of the bars: the one that is asked for, near the range, or the latest with a record. */
  function lastShown({ unit, from, to, until }, latest) {
    if (until) return until;
    const near = (day) => cstp.timeline.periods(unit, day);
    const usual = latest < near(today())[0].from || latest > today() ? latest : today();
    const first = near(usual)[0].from;
    if (to && (to < first || to > near(usual).at(-1).to)) return to;
    if (from && !to && from > near(usual).at(-1).to) return from;
    return usual;
  }

  function Key({ kind, on, found, toggle }) {
    const label = { decisions: "Decisions", events: "Events", episodes: "Episodes" }[kind];
    return html`<button type="button" class="key" aria-pressed=${on ? "true" : "false"} onClick=${toggle}>
      <${Swatch} kind=${kind === "episodes" ? "rewarded" : kind} />
      ${kind === "episodes" && html`<${Swatch} kind="failed" />`}
      ${label}${found !== null && html` <span class="found">${cstp.count(found)}</span>`}
    </button>`;
  }

  function Swatch({ kind }) {
    return html`<svg class=${`swatch ${kind}`} viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">
      <rect x="0.5" y="0.5" width="13" height="13" />
      ${kind === "events" && html`<path d="M1 7 7 1M1 13 13 1M7 13 13 7" />`}
      ${kind === "failed" && html`<path d="M1 7 7 13M1 1 13 13M7 1 13 7" />`}
    </svg>`;
  }

  /** The brush for the keyboard: two dates. */
  function Dates({ range, choose, clear, chosen }) {
    const [problem, setProblem] = useState(null);
    const fields = useRef(null);
    const submit = (event) => {
      event.preventDefault();
      const { from, to } = Object.fromEntries(new FormData(fields.current));
      if (!from || !to) setProblem("From and to need a date each.");
      else if (from > to) setProblem("From is later than to.");
      else {
        setProblem(null);
        choose(from, to);
      }
    };
    return html`<form class="dates" ref=${fields} onSubmit=${submit}>
      <label class="choice">From <input type="date" name="from" required key=${range.from} defaultValue=${range.from} /></label>
      <label class="choice">to <input type="date" name="to" required key=${range.to} defaultValue=${range.to} /></label>
      <button class="small" type="submit">Choose</button>
      <button class="small" type="button" disabled=${!chosen} onClick=${clear}>The whole period</button>
      ${problem && html`<p class="failure" role="alert">${problem}</p>`}
    </form>`;
  }

  function Reward({ value }) {
    const text = `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2).replace(/0$/, "")}`;
    return html`<span class=${`reward ${value < 0 ? "failed" : "rewarded"}`} title="Reward, from −1 to +1">
      <span aria-hidden="true" class="reward-track"><i style=${{ left: `${(value + 1) * 50}%` }}></i></span>
      ${value < 0 ? "▼" : "▲"} ${text}
    </span>`;
  }

  const PAGES = { decision: "decision", episode: "episode", event: "event" };

  function Row({ one }) {
    return html`<li class=${`moment ${one.kind}`}>
      <span class="moment-kind"><${Swatch} kind=${one.swatch} /> ${PAGES[one.kind]}</span>
      <span class="moment-text">
        <a data-row href=${cstp.address.recordAddress(one.kind, one.id)}>${one.title}</a>
      </span>
      <span class="moment-facts">${one.facts}</span>
    </li>`;
  }

  /** Records of the three kinds as rows of one list, the newest first. */
  function rowsOf(decisions, events, episodes) {
    const rows = [
      ...decisions.map((one) => ({
        kind: "decision", swatch: "decisions", id: one.id, at: one.date, title: one.title,
        facts: html`<${cstp.Pill} kind="status" value=${one.outcome ?? one.status} />`,
      })),
      ...events.map((one) => ({
        kind: "event", swatch: "events", id: one.id, at: one.at, title: one.text,
        facts: html`<${cstp.Pill} kind="category" value=${one.title} />`,
      })),
      ...episodes.map((one) => ({
        kind: "episode", swatch: one.reward < 0 ? "failed" : "rewarded", id: one.id, at: one.createdAt, title: one.query,
        facts: html`<${Reward} value=${one.reward} />`,
      })),
    ];
    return rows.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  }

  function byDay(rows) {
    const days = [];
    for (const row of rows) {
      const day = dayOf(row.at);
      if (days.at(-1)?.day !== day) days.push({ day, rows: [] });
      days.at(-1).rows.push(row);
    }
    return days;
  }

  /** What happened in the range, the newest first. */
  function Records({ range, memory, off, limit, more }) {
    const wants = !off.includes("decisions");
    const params = { dateFrom: range.from, dateTo: range.to, limit };
    const decisions = cstp.useCall("cstp.listDecisions", wants ? params : null, { keep: true });
    const within = (time) => range.from <= dayOf(time) && dayOf(time) <= range.to;
    const events = (memory.events ?? []).filter((one) => within(one.at));
    const episodes = (memory.episodes ?? []).filter((one) => within(one.createdAt));
    const found = (decisions.result?.total ?? 0) + events.length + episodes.length;
    const decided = wants ? (decisions.result?.decisions ?? []).filter((one) => within(one.date)) : [];
    const rows = rowsOf(decided, events, episodes).slice(0, limit);
    const loading = (wants && decisions.loading) || memory.loading;
    const name = range.from === range.to ? spelledDay(range.from) : `${spelledDay(range.from)} – ${spelledDay(range.to)}`;
    return html`<section class="moments" aria-busy=${loading ? "true" : "false"}>
      <h2 aria-live="polite">${name}${!loading && html` <span class="muted">(${memory.notes.length && found ? "at least " : ""}${cstp.plural(found, "record")})</span>`}</h2>
      ${decisions.error && html`<${cstp.Failure} error=${decisions.error} again=${decisions.again} />`}
      ${!rows.length && loading && html`<${cstp.Placeholder} lines=${8} />`}
      ${!rows.length && !loading && html`<p class="empty">Nothing is dated in this time.</p>`}
      ${byDay(rows).map(
        ({ day, rows: ofDay }) => html`<div class="moments-day" key=${day}>
          <h3>${spelledDay(day)}</h3>
          <ul>${ofDay.map((one) => html`<${Row} key=${`${one.kind} ${one.id}`} one=${one} />`)}</ul>
        </div>`,
      )}
      ${rows.length < found && (limit < MOST_LISTED
        ? html`<button type="button" onClick=${more}>Show more: ${cstp.count(found - rows.length)} are left</button>`
        : html`<p class="hint">The newest ${cstp.count(rows.length)} are listed. Choose a shorter time to see others.</p>`)}
    </section>`;
  }

  /** Episodes and events between two days, each with its error and its note. */
  function useMemory(from, to, off) {
    const key = (kind) => (from && !off.includes(kind) ? `${kind} ${from} ${to}` : null);
    const { episodesWithin, events } = cstp.timeline;
    const lived = cstp.useGather(key("episodes"), (call, signal) => episodesWithin(call, from, to, signal));
    const happened = cstp.useGather(key("events"), (call, signal) => events(call, from, to, signal));
    const current = (one) => (one.loading ? null : one.result);
    return {
      episodes: off.includes("episodes") ? [] : (current(lived)?.episodes ?? null),
      events: off.includes("events") ? [] : (current(happened)?.events ?? null),
      loading: lived.loading || happened.loading,
      notes: [current(lived)?.note, current(happened)?.note].filter(Boolean),
      failures: [lived, happened].filter((one) => one.error),
    };
  }

  const sum = (bars, ...kinds) => bars.reduce((all, bar) => all + kinds.reduce((one, kind) => one + bar[kind], 0), 0);

  function View({ wish, latest, undated, go }) {
    const { unit, off } = wish;
    const until = lastShown(wish, latest);
    const shown = useMemo(() => cstp.timeline.periods(unit, until), [unit, until]);
    const [first, last] = [shown[0].from, shown.at(-1).to];
    const chosen = Boolean(wish.from || wish.to);
    const range = {
      from: wish.from ?? (wish.to < first ? wish.to : first),
      to: wish.to ?? (wish.from > last ? wish.from : last),
    };
    const inside = first <= range.from && range.to <= last;
    const decided = cstp.useGather(off.includes("decisions") ? null : `${first} ${last}`, (call, signal) =>
      cstp.timeline.decisionDays(call, first, last, signal));
    const memory = useMemory(first, last, off);
    const apart = useMemory(inside ? null : range.from, range.to, off);
    const loading = decided.loading || memory.loading;
    const counted = useMemo(() => {
      if (loading) return null;
      const days = off.includes("decisions") ? [] : (decided.result ?? []);
      return { shown, bars: cstp.timeline.counted(shown, { days, episodes: memory.episodes ?? [], events: memory.events ?? [] }) };
    }, [loading, shown, off.join(), decided.result]);
    const kept = useRef(null); // the bars of before, until those of another time are counted
    kept.current = counted ?? kept.current;
    const view = kept.current;
    const [limit, setLimit] = useState({ of: "", count: LISTED });
    const of = `${range.from} ${range.to}`;
    const count = limit.of === of ? limit.count : LISTED;
    const choose = (from, to) => go({ from, to, until: shown[0].from <= from && to <= last ? until : "" });
    const marked = chosen && view && indices(view.shown, range);
    const found = view && { decisions: sum(view.bars, "decisions"), events: sum(view.bars, "events"), episodes: sum(view.bars, "rewarded", "failed") };
    const toggle = (kind) => go({ off: off.includes(kind) ? off.filter((one) => one !== kind) : [...off, kind] });
    const label = view && `Bars: ${SHOWN.map((kind) => `${cstp.count(found[kind])} ${kind}`).join(", ")} from `
      + `${spelledDay(view.shown[0].from)} to ${spelledDay(view.shown.at(-1).to)}. The table below has the numbers.`;
    return html`<div class="bar">
        <${cstp.Choice} label="By" value=${unit} options=${UNIT_NAMES} change=${(by) => go({ by: by === "day" ? "" : by, until: "" })} />
        <span class="actions">
          <button type="button" class="small" onClick=${() => go({ until: dayOf(at(first) - DAY), from: "", to: "" })}>‹ Earlier</button>
          <button type="button" class="small" disabled=${last >= today() && last >= latest}
            onClick=${() => go({ until: later(unit, last, latest), from: "", to: "" })}>Later ›</button>
        </span>
        <span class="actions" role="group" aria-label="What is shown">
          ${SHOWN.map((kind) => html`<${Key} kind=${kind} on=${!off.includes(kind)} toggle=${() => toggle(kind)}
            found=${off.includes(kind) || !found ? null : found[kind]} />`)}
        </span>
      </div>
      ${[decided, ...memory.failures, ...apart.failures].filter((one) => one.error).map((one) => html`
        <${cstp.Failure} error=${one.error} again=${one.again} />`)}
      <div class="card chart-card" aria-busy=${loading ? "true" : "false"}>
        <${cstp.timeline.Chart} shown=${view?.shown ?? shown} bars=${view?.bars ?? null} range=${marked || null} label=${label ?? "Loading"}
          choose=${(one, other) => choose(view.shown[one].from, view.shown[other].to)} />
      </div>
      ${[...memory.notes, ...apart.notes].map((note) => html`<p class="hint note">${note}</p>`)}
      ${!inside && html`<p class="hint note">The bars show ${spelledDay(first)} – ${spelledDay(last)}, not all of the time chosen.</p>`}
      ${undated > 0 && html`<p class="hint">${cstp.plural(undated, "decision")} without a date ${undated === 1 ? "is" : "are"} not shown.</p>`}
      <${Dates} range=${range} choose=${choose} chosen=${chosen} clear=${() => go({ from: "", to: "", until: wish.until ?? "" })} />
      ${view && html`<${cstp.timeline.Numbers} shown=${view.shown} bars=${view.bars} unit=${unit} />`}
      <${Records} range=${range} memory=${inside ? memory : apart} off=${off} limit=${count}
        more=${() => setLimit({ of, count: Math.min(MOST_LISTED, count + LISTED) })} />`;
  }

  /** Which periods a range touches; null where it touches none. */
  function indices(shown, { from, to }) {
    const first = shown.findIndex((one) => one.to >= from);
    const last = shown.findLastIndex((one) => one.from <= to);
    return first >= 0 && last >= first ? [first, last] : null;
  }

  /** The last day of the next view; empty at the end, where the usual one is shown. */
  function later(unit, last, latest) {
    const length = at(last) - at(cstp.timeline.periods(unit, last)[0].from) + DAY;
    const next = dayOf(at(last) + length);
    return next >= today() && next >= latest ? "" : next;
  }

  cstp.pages.timeline = function Timeline({ params }) {
    const wish = asked(params);
    const newest = cstp.useGather("newest", cstp.timeline.lastDay);
    const go = (changes) => cstp.address.go("timeline", { ...params, ...changes });
    return html`<${cstp.PageHead} title="Timeline"><p class="muted">Days are those of UTC.</p></${cstp.PageHead}>
      ${wish.problems.length > 0
        ? html`<${cstp.Failure} error=${{ message: wish.problems.join("; ") }} />
          <p><a href=${cstp.address.to("timeline")}>The timeline without them</a></p>`
        : html`<${cstp.Answer} of=${newest} lines=${12} show=${({ day, undated }) =>
            html`<${View} wish=${wish} latest=${day} undated=${undated} go=${go} />`} />`}`;
  };
}
