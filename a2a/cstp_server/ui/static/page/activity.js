"use strict";
// What changes, as it happens, and (in audit.js) who asked what.
{
  const { html } = cstp;
  const { useEffect, useRef, useState } = cstp.hooks;

  const KINDS = [
    "decision", "source", "chunk", "cluster", "extraction", "episode", "artifact", "artifact_chunk", "turn", "event",
    "entity", "edge",
  ];
  const PARTS = ["chunk", "artifact_chunk", "cluster", "entity", "edge"]; // made with a record: a document has hundreds
  const RECORDS = KINDS.filter((kind) => !PARTS.includes(kind));
  const ALL = "all";
  const FIRST = 3; // of changes of one kind that follow each other
  const MOST_TITLES = 20; // of the newest rows; those that no list names are read one by one
  const MOST = 200; // rows that are kept, and that a call gives
  const ENOUGH = 30; // rows to begin with, if there are so many
  const WAIT = 25_000; // milliseconds that a call waits for a change
  const SPANS = [600, 7200, 86_400, 1_036_800, 12_441_600].map((seconds) => seconds * 1_000_000); // microseconds
  const MOST_ROUNDS = 8; // of two calls

  /**
   * The last changes: { changes, cursor, crowded }, oldest first. A cursor is a time in microseconds, so spans back from
   * the newest are tried until one has enough and not more than a call gives; `crowded` where none was found.
   */
  async function lastChanges(call, kinds, signal, show) {
    const { cursor: newest } = await call("cstp.changes", { since: "now" }, signal);
    const after = (span) => call("cstp.changes", { since: Math.max(0, newest - span), kinds, limit: MOST }, signal);
    let best = { changes: [], cursor: newest };
    let low = 0; // a span with few enough
    let high = null; // one with too many
    const narrowed = async (span) => {
      const found = await after(span);
      if (found.more) high = newest - found.cursor; // the first of them are known to be too early
      else {
        [best, low] = [found, span];
        if (found.changes.length) show(found.changes);
      }
      return !found.more;
    };
    for (const span of [...SPANS, newest]) {
      if (!(await narrowed(span)) || best.changes.length >= ENOUGH) break;
    }
    for (let round = 0; high > low && best.changes.length < ENOUGH && round < MOST_ROUNDS; round++) {
      if (await narrowed(high)) break;
      await narrowed(Math.floor((low + high) / 2));
    }
    return { ...best, crowded: high > low && best.changes.length < ENOUGH };
  }

  const pause = (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, milliseconds);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(new DOMException("left", "AbortError"));
      });
    });

  /** Newer changes before those known; of a record only the last change is kept, as the server does. */
  function added(rows, changes) {
    const fresh = changes.map((change) => ({ ...change, key: `${change.kind} ${change.id}` })).reverse();
    const keys = new Set(fresh.map(({ key }) => key));
    return [...fresh, ...rows.filter(({ key }) => !keys.has(key))].slice(0, MOST);
  }

  /** The kinds that are asked for: records without their parts, unless one kind or all are chosen. */
  const kindsOf = (kind) => (kind === ALL ? null : kind ? [kind] : RECORDS);

  /** Follows changes while the page is open, visible and not paused: { rows, state, error, again }. */
  function useChanges(kind, paused) {
    const { call } = cstp.useVisitor();
    const [known, setKnown] = useState({ rows: null, skipped: false, error: null });
    const [round, setRound] = useState(0);
    const [visible, setVisible] = useState(document.visibilityState === "visible");
    const cursor = useRef(null);
    const kinds = kindsOf(kind);
    useEffect(() => {
      const seen = () => setVisible(document.visibilityState === "visible");
      document.addEventListener("visibilitychange", seen);
      return () => document.removeEventListener("visibilitychange", seen);
    }, []);
    useEffect(() => {
      cursor.current = null;
      setKnown({ rows: null, skipped: false, error: null });
    }, [kind]);
    useEffect(() => {
      if (paused || !visible) return undefined;
      const stop = new AbortController();
      const { signal } = stop;
      const begin = async (skipped) => {
        const show = (changes) => setKnown((before) => ({ ...before, rows: added([], changes), skipped, error: null }));
        const { changes, cursor: next, crowded } = await lastChanges(call, kinds, signal, show);
        cursor.current = next;
        setKnown({ rows: added([], changes), skipped, crowded, error: null });
      };
      const step = async () => {
        if (cursor.current === null) return begin(false);
        const found = await call("cstp.changes", { since: cursor.current, kinds, limit: MOST, waitMs: WAIT }, signal);
        if (found.more) return begin(true); // more than the list holds
        cursor.current = found.cursor;
        return setKnown((before) => ({ ...before, rows: added(before.rows ?? [], found.changes), error: null }));
      };
      const follow = async () => {
        for (;;) {
          try {
            await step();
          } catch (error) {
            if (error.name === "AbortError") return;
            setKnown((before) => ({ ...before, error }));
            if (error.code === -32011) cursor.current = null; // of another store
            if (![0, -32002, -32003, -32010, -32011].includes(error.code)) return; // the rest needs a person
            await pause(1000 * (error.data?.retryAfter ?? 3), signal).catch(() => {});
            if (signal.aborted) return;
          }
        }
      };
      follow();
      return () => stop.abort();
    }, [kind, paused, visible, round, call]);
    return { ...known, again: () => setRound(round + 1) };
  }

  const timeFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, {
    month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  }));

  /** A moment to the second. */
  function Moment({ at }) {
    return html`<time datetime=${at} title=${at}>${timeFormat().format(new Date(at))}</time>`;
  }

  const SHOWN = new Set(["decision", "chunk", "extraction", "episode", "artifact", "artifact_chunk", "turn", "event"]);

  /** A title, or else an id, as a link to its record, or as a text where no page shows its kind. */
  function IdLink({ kind, id, title }) {
    const text = html`<span title=${title && id}>${title ?? id}</span>`;
    if (kind === "source") return html`<a href=${cstp.address.to("knowledge", { source: id })}>${text}</a>`;
    return SHOWN.has(kind) ? html`<${cstp.RecordLink} type=${kind} id=${id}>${text}</${cstp.RecordLink}>` : text;
  }

  const kindName = (kind) => kind.replace("_", " ");

  /** What names a record that a recall gives: its title, or the beginning of what it says. */
  function named({ type, content, metadata }) {
    const said = cstp.shortened(cstp.plain(content), 100);
    if (metadata.conversationId) return `${cstp.speakerOf(metadata)}: ${said}`;
    return type === "event" ? said : (metadata.title ?? said);
  }

  /** The title of one record by its kind and id; null where no method gives one. */
  async function titleOf(call, { kind, id }, signal) {
    if (kind === "source") {
      const found = await call("cstp.searchKnowledge", { query: id, filters: { source: id, type: "chunk" }, limit: 1 }, signal);
      return found.results[0]?.source?.title ?? null;
    }
    if (!["decision", "chunk", "artifact", "turn", "event"].includes(kind)) return null;
    const params = { id, expand: false, includeEvents: false, includeEntities: false };
    return named((await call("cstp.recall", params, signal)).results[0]);
  }

  /** Titles of the latest decisions, episodes and extractions by kind and id, of kinds that the rows have. */
  function useLists(rows) {
    const has = (kind) => rows.some((row) => row.kind === kind && row.op === "put");
    const ask = (method, kind, params) => cstp.useCall(method, has(kind) ? params : null, { keep: true });
    const decisions = ask("cstp.listDecisions", "decision", { sort: "recordedAt", limit: MOST });
    const episodes = ask("cstp.listEpisodes", "episode", { limit: 100 });
    const extracted = [
      ["decision", ask("cstp.getDecisions", "extraction", { limit: MOST })],
      ["pattern", ask("cstp.getPatterns", "extraction", { limit: MOST })],
      ["warning", ask("cstp.getWarnings", "extraction", { limit: MOST })],
    ];
    const titles = {};
    for (const one of decisions.result?.decisions ?? []) titles[`decision ${one.id}`] = one.title;
    for (const one of episodes.result?.episodes ?? []) titles[`episode ${one.id}`] = one.query;
    for (const [type, { result }] of extracted) {
      for (const one of result?.results ?? []) titles[`extraction ${one.id}`] = cstp.headingOf(type, one);
    }
    return { titles, loading: [decisions, episodes, ...extracted.map(([, call]) => call)].some((call) => call.loading) };
  }

  /** Titles by kind and id of rows that are shown: from lists, and of the newest others one after the other. */
  function useTitles(rows) {
    const { call } = cstp.useVisitor();
    const lists = useLists(rows);
    const [read, setRead] = useState({});
    const next = rows.slice(0, MOST_TITLES).find(({ key, op }) => op === "put" && !(key in lists.titles) && !(key in read));
    useEffect(() => {
      if (!next || lists.loading) return undefined;
      const stop = new AbortController();
      const keep = (title) => setRead((known) => ({ ...known, [next.key]: title }));
      titleOf(call, next, stop.signal).then(keep, (error) => {
        if (error.name !== "AbortError") keep(null); // gone meanwhile, or a limit is used up: its id is shown
      });
      return () => stop.abort();
    }, [next?.key, lists.loading, call]);
    return { ...read, ...lists.titles };
  }

  function Change({ change, title }) {
    const gone = change.op === "delete";
    const open = (event) => {
      if (event.key === "Enter" && event.target === event.currentTarget) event.currentTarget.querySelector("a")?.click();
    };
    return html`<li class="change" data-row tabindex="0" onKeyDown=${open}
        aria-label=${`${kindName(change.kind)} ${title ?? change.id}, ${gone ? "gone" : "written"}`}>
      <span class=${gone ? "pill failed" : "pill ready"}>${gone ? "gone" : "written"}</span>
      <span class="muted">${kindName(change.kind)}</span>
      <span class="muted"><${Moment} at=${change.at} /></span>
      <span class="what">${gone
        ? html`<s>${change.id}</s>`
        : html`<${IdLink} kind=${change.kind} id=${change.id} title=${title} />`}</span>
    </li>`;
  }

  /** Changes of one kind that follow each other: the first of many, and a button for the rest. */
  function Run({ rows, titles, open, toggle }) {
    const shown = open ? rows : rows.slice(0, FIRST);
    const left = rows.length - FIRST;
    const name = kindName(rows[0].kind);
    const many = name === "entity" ? "more entities" : undefined;
    return html`${shown.map((change) => html`<${Change} key=${`${change.key} ${change.seq}`} change=${change} title=${titles[change.key]} />`)}
      ${left > 0 && html`<li class="change run"><button type="button" class="plain-button" aria-expanded=${open ? "true" : "false"} onClick=${toggle}>
        ${open ? "Fewer" : `${cstp.plural(left, `more ${name}`, many)} ${rows[0].op === "put" ? "written" : "gone"}`}
      </button></li>`}`;
  }

  /** Neighbours of the same kind and fate together: [{ name, rows }]. The oldest names them, as newer ones come. */
  function runsOf(rows) {
    const runs = [];
    for (const row of rows) {
      const last = runs.at(-1);
      if (last && last.rows[0].kind === row.kind && last.rows[0].op === row.op) last.rows.push(row);
      else runs.push({ rows: [row] });
    }
    return runs.map((run) => ({ ...run, name: `${run.rows.at(-1).key} ${run.rows.at(-1).seq}` }));
  }

  const NONE = [];

  function Changes({ params, set, heard }) {
    const [paused, setPaused] = useState(false);
    const [opened, setOpened] = useState([]);
    const kind = [...KINDS, ALL].includes(params.kind) ? params.kind : "";
    const { rows, skipped, crowded, error, again } = useChanges(kind, paused);
    const runs = runsOf(rows ?? []);
    const shown = runs.flatMap((run) => (opened.includes(run.name) ? run.rows : run.rows.slice(0, FIRST)));
    const titles = useTitles(params.titles === "0" ? NONE : shown);
    useEffect(() => heard(titles), [Object.keys(titles).length]);
    const toggle = (name) => setOpened(opened.includes(name) ? opened.filter((one) => one !== name) : [...opened, name]);
    const state = paused ? "paused" : error ? "broken" : "live";
    return html`<section aria-label="Changes">
      <h2>Changes <span class=${`pulse ${state}`} role="status">${paused ? "paused" : error ? "not followed" : "live"}</span></h2>
      <div class="bar">
        <${cstp.Choice} label="Kind" value=${kind} options=${[["", "records"], [ALL, "all, with passages and links"], ...KINDS.map((one) => [one, kindName(one)])]}
          change=${(value) => {
            setPaused(false);
            set({ kind: value });
          }} />
        <button type="button" class="small" aria-pressed=${paused ? "true" : "false"} onClick=${() => setPaused(!paused)}>
          ${paused ? "Follow again" : "Pause"}
        </button>
        <label class="check" title="The audit notes that they were read">
          <input type="checkbox" checked=${params.titles !== "0"}
            onChange=${(event) => set({ titles: event.currentTarget.checked ? "" : "0" })} />
          Titles
        </label>
      </div>
      ${error && html`<${cstp.Failure} error=${error} again=${again} />`}
      <div class="card log">
        ${rows === null && !error && html`<${cstp.Placeholder} lines=${14} />`}
        ${rows !== null && !rows.length && html`<p class="empty">${kind && kind !== ALL
          ? `No ${kindName(kind)} that this token may see has been written yet.`
          : "Nothing that this token may see has been written yet."}</p>`}
        <ol class="rows">${runs.map((run) => html`<${Run} key=${run.name} rows=${run.rows} titles=${titles}
          open=${opened.includes(run.name)} toggle=${() => toggle(run.name)} />`)}</ol>
      </div>
      <p class="hint">${skipped ? "There were more changes than this list holds; these are the last. " : ""}
        ${crowded ? "Before these, so much changed at once that it is left out. " : ""}
        The newest first, the last of each record, ${MOST} at most${kind ? "" : "; without passages, clusters, entities and links"}.</p>
      <${cstp.CallShown} method="cstp.changes" params=${{ since: "now", kinds: kindsOf(kind), waitMs: WAIT }} />
    </section>`;
  }

  function Activity({ params }) {
    const [titles, setTitles] = useState({}); // that are known by kind and id, for both lists
    const set = (changed) => cstp.address.go("activity", { ...params, ...changed }, { replace: true });
    return html`<${cstp.PageHead} title="Activity" />
      <div class="activity">
        <${Changes} params=${params} set=${set} heard=${setTitles} />
        <${cstp.Calls} params=${params} set=${set} titles=${titles} />
      </div>`;
  }

  cstp.pages.activity = Activity;
  Object.assign(cstp, { Moment, IdLink });
}
