"use strict";
// One conversation as a chat: read from its end or around a turn, with older and newer turns on demand.
{
  const { html } = cstp;
  const { useEffect, useLayoutEffect, useRef, useState } = cstp.hooks;

  const PAGE = 50; // the most that the method gives
  const BARE = { expand: false, includeEvents: false, includeEntities: false };
  const MOST_TRIES = 12;

  const ms = (time) => new Date(time).valueOf();
  const unknown = (turns, known) => turns.filter((turn) => !known.some((one) => one.id === turn.id));

  /** Calls of one conversation. The method gives the latest turns up to a time; all else is made of that. */
  function reader(call, id, signal) {
    const page = (params = {}) =>
      call("cstp.recall", { conversationId: id, limit: PAGE, ...BARE, ...params }, signal);

    /** Turns before the first of those known: { turns, left }. */
    async function older(known) {
      const until = known[0]?.ts ?? null;
      if (until === null) return { turns: known, left: 0 };
      let found = await page({ dateTo: until });
      let fresh = unknown(found.turns, known);
      if (!fresh.length && found.totalTurns > PAGE) {
        found = await page({ dateTo: new Date(ms(until) - 1).toISOString() }); // a page of turns of the same time
        fresh = unknown(found.turns, known);
      }
      return { turns: [...fresh, ...known], left: found.totalTurns - found.turns.length };
    }

    /** Turns after the last of those known. The span is narrowed until it holds no more than a page. */
    async function newer(known, end) {
      const since = known.at(-1)?.ts ?? null;
      if (since === null) return { turns: known, left: 0 };
      let found = await page({ dateFrom: since });
      const total = found.totalTurns;
      let low = ms(since);
      let high = ms(end ?? found.turns.at(-1).ts);
      let share = (0.7 * PAGE) / total;
      for (let tries = 0; total > PAGE && tries < MOST_TRIES && high - low > 1; tries++) {
        const until = low + Math.max(1, Math.floor((high - low) * share));
        const narrow = await page({ dateFrom: since, dateTo: new Date(until).toISOString() });
        if (narrow.totalTurns > PAGE) high = until;
        else {
          found = narrow;
          low = until;
          if (unknown(narrow.turns, known).length >= PAGE / 4) break;
        }
        share = 0.5;
      }
      const fresh = unknown(found.turns, known);
      return { turns: [...known, ...fresh], left: total > PAGE ? total - found.totalTurns : 0 };
    }

    /** The end of the conversation, or the turns around one: { turns, total, olderLeft, newerLeft, end, missing }. */
    async function begin(turn) {
      const latest = await page();
      const end = latest.turns.at(-1)?.ts ?? null;
      const atEnd = {
        turns: latest.turns, total: latest.totalTurns, end, newerLeft: 0, missing: null,
        olderLeft: latest.totalTurns - latest.turns.length,
      };
      if (!turn || latest.turns.some((one) => one.id === turn)) return atEnd;
      let of;
      try {
        of = (await call("cstp.recall", { id: turn, ...BARE }, signal)).results[0].metadata;
      } catch (error) {
        if (error.code === -32007) return { ...atEnd, missing: "is not there, or the token may not see it" };
        throw error;
      }
      if (of.conversationId !== id) return { ...atEnd, missing: "is of another conversation" };
      if (!of.ts) return { ...atEnd, missing: "has no time, so that the turns around it cannot be asked for" };
      const upTo = await page({ dateTo: of.ts });
      const after = await newer(upTo.turns, end);
      return {
        ...atEnd, turns: after.turns, newerLeft: after.left, olderLeft: upTo.totalTurns - upTo.turns.length,
      };
    }

    return { begin, older, newer };
  }

  function useTurns(id, turn) {
    const { call } = cstp.useVisitor();
    const [state, setState] = useState({ turns: null, loading: true, error: null });
    const stop = useRef(null);
    const shown = useRef([]);
    shown.current = state.turns ?? [];
    const read = async (action) => {
      stop.current?.abort();
      stop.current = new AbortController();
      setState((known) => ({ ...known, loading: true, error: null }));
      try {
        const found = await action(reader(call, id, stop.current.signal));
        setState((known) => ({ ...known, ...found, loading: false }));
      } catch (error) {
        if (error.name !== "AbortError") setState((known) => ({ ...known, loading: false, error }));
      }
    };
    useEffect(() => {
      if (!turn || !shown.current.some((one) => one.id === turn)) read((from) => from.begin(turn));
    }, [id, turn, call]);
    useEffect(() => () => stop.current?.abort(), []);
    return {
      ...state,
      again: () => read((from) => from.begin(turn)),
      older: () => read(async (from) => {
        const { turns, left } = await from.older(state.turns);
        return { turns, olderLeft: left };
      }),
      newer: () => read(async (from) => {
        const { turns, left } = await from.newer(state.turns, state.end);
        return { turns, newerLeft: left };
      }),
    };
  }

  /** A text as it was said, with blocks between fences as code; nothing else is interpreted, so nothing is lost. */
  function SaidText({ text, query }) {
    const parts = text.split(/^```[^\n]*\n?/m);
    return html`${parts.map((part, at) =>
      at % 2
        ? html`<pre tabindex="0"><code>${part.replace(/\n$/, "")}</code></pre>`
        : part.trim() && html`<p class="text"><${cstp.Marked} text=${part.trim()} query=${query} /></p>`,
    )}`;
  }

  const SIDES = { user: "user", system: "system" };
  const hue = (name) => [...name].reduce((sum, letter) => sum + letter.codePointAt(0), 0) % 3;
  const hourFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, { timeStyle: "short" }));
  const dayFormat = cstp.once(() => new Intl.DateTimeFormat(undefined, { dateStyle: "full" }));

  function Turn({ id, turn, marked, query }) {
    const speaker = cstp.speakerOf(turn);
    const place = useRef(null);
    useEffect(() => {
      if (!marked) return;
      place.current.scrollIntoView({ block: "center" });
      place.current.focus({ preventScroll: true });
    }, [marked]);
    return html`<li ref=${place} data-row tabindex="-1" class=${`turn ${SIDES[turn.role] ?? "assistant"} ${marked ? "marked" : ""}`}
        aria-current=${marked ? "true" : null} data-turn=${turn.id}>
      <span class=${`initial hue-${hue(speaker)}`} aria-hidden="true">${[...speaker][0].toUpperCase()}</span>
      <div class="bubble">
        <p class="meta">
          <b>${speaker}</b>
          ${turn.role && turn.role !== speaker ? html`<span>${turn.role}</span>` : null}
          ${turn.ts && html`<time datetime=${turn.ts} title=${turn.ts}>${hourFormat().format(new Date(turn.ts))}</time>`}
          <a href=${cstp.address.to(["conversation", id], { turn: turn.id, q: query })}
            aria-label=${`Turn ${turn.turnIndex}, its address`}>#${turn.turnIndex}</a>
          <a href=${cstp.address.to(["memory", turn.id])} aria-label=${`Turn ${turn.turnIndex} as a record`}>record</a>
        </p>
        <${SaidText} text=${turn.content} query=${query} />
      </div>
    </li>`;
  }

  const dayOf = (turn) => (turn.ts ? dayFormat().format(new Date(turn.ts)) : null);

  /** The chat by sessions, each a heading and a list, with a line wherever a day begins. */
  function Chat({ id, turns, marked, query }) {
    const sessions = [];
    for (const turn of turns) {
      const last = sessions.at(-1);
      if (last && last.name === turn.session) last.turns.push(turn);
      else sessions.push({ name: turn.session, turns: [turn] });
    }
    let day = null;
    return html`<div class="chat">
      ${sessions.map((session) => html`<section key=${`${session.name} ${session.turns.at(-1).id}`}>
        ${session.name ? html`<h2>Session ${session.name}</h2>` : html`<h2 class="hidden">Turns</h2>`}
        <ol>
          ${session.turns.map((turn) => {
            const its = dayOf(turn);
            const begins = its !== day;
            day = its;
            return html`${begins && html`<li class="day" key=${`day ${turn.id}`}><span>${its ?? "without a time"}</span></li>`}
              <${Turn} key=${turn.id} id=${id} turn=${turn} marked=${turn.id === marked} query=${query} />`;
          })}
        </ol>
      </section>`)}
    </div>`;
  }

  /** Keeps what is read where it is when older turns appear above it. */
  function useSteady(turns) {
    const held = useRef(null);
    useLayoutEffect(() => {
      if (!held.current) return;
      const element = document.querySelector(`[data-turn="${CSS.escape(held.current.id)}"]`);
      if (element) scrollBy(0, element.getBoundingClientRect().top - held.current.top);
      held.current = null;
    }, [turns]);
    return () => {
      const element = document.querySelector("[data-turn]");
      if (element) held.current = { id: element.dataset.turn, top: element.getBoundingClientRect().top };
    };
  }

  function Matches({ id, query, marked }) {
    const asked = query.length < 2 ? null : { conversationId: id, query, limit: 20, ...BARE };
    const found = cstp.useCall("cstp.recall", asked, { delay: 150, keep: true });
    if (asked === null) return html`<p class="hint">Two letters at least.</p>`;
    return html`<h2>Turns that answer best</h2>
      <${cstp.Answer} of=${found} lines=${5} isEmpty=${({ results }) => !results.length} empty="None."
        show=${({ results }) => html`<ol class="matches">
          ${results.map(
            (turn) => html`<li key=${turn.id}>
              <a href=${cstp.address.to(["conversation", id], { turn: turn.id, q: query })}
                aria-current=${turn.id === marked ? "true" : null}>
                ${cstp.speakerOf(turn.metadata)}${turn.metadata.ts ? html`, <${cstp.Time} at=${turn.metadata.ts} hours />` : null}
              </a>
              <${cstp.Snippet} text=${cstp.excerpt(turn.content, query)} query=${query} short />
            </li>`,
          )}
        </ol>`} />`;
  }

  /** Who speaks in the turns that are shown, and when. */
  function About({ turns }) {
    const speakers = new Map();
    for (const turn of turns) speakers.set(cstp.speakerOf(turn), (speakers.get(cstp.speakerOf(turn)) ?? 0) + 1);
    const times = turns.filter((turn) => turn.ts);
    return html`<div class="spare">
      <h2>The turns that are shown</h2>
      <${cstp.Facts} rows=${[
        ["From", times.length > 0 && html`<${cstp.Time} at=${times[0].ts} hours />`],
        ["To", times.length > 0 && html`<${cstp.Time} at=${times.at(-1).ts} hours />`],
        ...[...speakers].map(([speaker, number]) => [speaker, cstp.plural(number, "turn")]),
      ]} />
    </div>`;
  }

  function Side({ id, params, found }) {
    const query = (params.q ?? "").trim();
    const set = (changed) => cstp.address.go(["conversation", id], { ...params, ...changed }, { replace: true });
    return html`<aside class="card" aria-label="Search in the conversation">
      <label class="choice wide">
        Search in it
        <input type="search" autocomplete="off" spellcheck=${false} value=${params.q ?? ""}
          onInput=${(event) => set({ q: event.currentTarget.value })} />
      </label>
      ${query ? html`<${Matches} id=${id} query=${query} marked=${params.turn} />` : html`<${About} turns=${found.turns ?? []} />`}
    </aside>`;
  }

  function Conversation({ path, params }) {
    const id = path[0] ?? "";
    const found = useTurns(id, params.turn);
    const hold = useSteady(found.turns);
    const turns = found.turns ?? [];
    const unreached = found.turns ? found.total - turns.length - found.olderLeft - found.newerLeft : 0;
    const older = () => {
      hold();
      found.older();
    };
    return html`<${cstp.PageHead} title=${id}>
        <span class="muted" role="status">${found.turns ? `${cstp.count(turns.length)} of ${cstp.plural(found.total, "turn")}` : "Loading"}</span>
        <a href=${cstp.address.to("conversations")}>All conversations</a>
      </${cstp.PageHead}>
      <div class="columns conversation">
        <${Side} id=${id} params=${params} found=${found} />
        <div>
          ${found.error && html`<${cstp.Failure} error=${found.error} again=${found.turns ? null : found.again} />`}
          ${!found.turns && !found.error && html`<${cstp.Placeholder} lines=${20} />`}
          ${found.missing && html`<p class="failure" role="alert">The turn ${params.turn} ${found.missing}. These are the latest.</p>`}
          ${found.turns && (found.olderLeft > 0 || found.newerLeft > 0) && html`<p class="reading">
            ${found.olderLeft > 0 && html`<button type="button" disabled=${found.loading} onClick=${older}>
              ${cstp.plural(found.olderLeft, "older turn")}: read ${Math.min(PAGE, found.olderLeft)}
            </button>`}
            ${found.newerLeft > 0 && html` <a href=${cstp.address.to(["conversation", id], { q: params.q })}>To its end</a>`}
          </p>`}
          ${found.turns && !turns.length && html`<p class="empty">There is no turn of a conversation “${id}” that this token may see.</p>`}
          <${Chat} id=${id} turns=${turns} marked=${params.turn} query=${(params.q ?? "").trim()} />
          ${found.newerLeft > 0 && html`<p class="reading"><button type="button" disabled=${found.loading} onClick=${found.newer}>
            ${cstp.plural(found.newerLeft, "newer turn")}: read on
          </button></p>`}
          ${unreached > 0 && html`<p class="hint">${cstp.plural(unreached, "turn")} more cannot be reached by their time.</p>`}
          ${found.turns && html`<${cstp.CallShown} method="cstp.recall" params=${{ conversationId: id, limit: PAGE, ...BARE }} />`}
        </div>
      </div>`;
  }

  cstp.pages.conversation = Conversation;
  cstp.SaidText = SaidText;
}
