"use strict";
// The conversations: the latest by their turns, and a search over what was said in all of them.
{
  const { html } = cstp;
  const { useEffect, useMemo, useRef, useState } = cstp.hooks;

  const PAGE = 50; // the most that the method gives
  const ENOUGH = 12; // conversations that a click should add
  const MOST_PAGES = 5; // calls that it may take
  const BARE = { expand: false, includeEvents: false, includeEntities: false };

  /** A row that j and k move to; Enter follows its first link. */
  function Row({ label, children }) {
    const open = (event) => {
      if (event.key === "Enter" && event.target === event.currentTarget) event.currentTarget.querySelector("a")?.click();
    };
    return html`<li class="card result compact" data-row tabindex="0" aria-label=${label} onKeyDown=${open}>${children}</li>`;
  }

  /** The instant before a time, to a millisecond: where more turns than a page holds have the same time. */
  const before = (time) => new Date(new Date(time).valueOf() - 1).toISOString();

  /** Adds turns, newest first, to conversations by id. The order is that of the newest turns. */
  function grouped(known, turns) {
    const groups = new Map(known);
    for (const turn of turns) {
      const id = turn.metadata.conversationId;
      const group = groups.get(id) ?? { id, latest: turn, turns: new Map() };
      groups.set(id, { ...group, turns: new Map(group.turns).set(turn.id, turn) });
    }
    return groups;
  }

  /** Reads pages of turns until there are enough new conversations: { groups, oldest, more, total }. */
  async function readFurther(call, { groups: known, oldest, total }, signal) {
    let groups = known;
    let more = true;
    for (let page = 0; page < MOST_PAGES && more && groups.size < known.size + ENOUGH; page++) {
      const params = { context: "conversation", limit: PAGE, ...BARE, dateTo: oldest };
      const { results, totalCount } = await call("cstp.recall", params, signal);
      total ??= totalCount;
      const held = [...groups.values()].reduce((sum, group) => sum + group.turns.size, 0);
      groups = grouped(groups, results);
      const fresh = [...groups.values()].reduce((sum, group) => sum + group.turns.size, 0) - held;
      const last = results.at(-1)?.metadata.ts ?? null;
      more = totalCount > results.length && last !== null;
      oldest = more && !fresh ? before(last) : last;
    }
    return { groups, oldest, more, total };
  }

  /** The latest conversations up to a day; `older` reads on. */
  function useConversations(upTo) {
    const { call } = cstp.useVisitor();
    const begin = { groups: new Map(), oldest: upTo || null, more: true, total: null };
    const [state, setState] = useState({ ...begin, loading: true, error: null });
    const stop = useRef(null);
    const read = async (from) => {
      stop.current?.abort();
      stop.current = new AbortController();
      setState({ ...from, loading: true, error: null });
      try {
        const found = await readFurther(call, from, stop.current.signal);
        setState({ ...found, loading: false, error: null });
      } catch (error) {
        if (error.name !== "AbortError") setState({ ...from, loading: false, error });
      }
    };
    useEffect(() => {
      read(begin);
      return () => stop.current.abort();
    }, [upTo, call]);
    return { ...state, older: () => read(state) };
  }

  const speakerOf = ({ speaker, role }) => speaker ?? role ?? "someone";

  function Conversation({ group }) {
    const turns = [...group.turns.values()];
    const { latest } = group;
    const speakers = [...new Set(turns.map((turn) => speakerOf(turn.metadata)))];
    const sessions = [...new Set(turns.map((turn) => turn.metadata.session).filter(Boolean))];
    return html`<${Row} label=${`conversation ${group.id}`}>
      <h2><a href=${cstp.address.to(["conversation", group.id])}>${group.id}</a></h2>
      <p class="meta">
        <${cstp.Time} at=${latest.metadata.ts} hours />
        <span>${speakers.slice(0, 4).join(", ")}${speakers.length > 4 ? ` and ${speakers.length - 4} more` : ""}</span>
        ${sessions.length > 0 && html`<span>${cstp.plural(sessions.length, "session")}: ${sessions.slice(0, 3).join(", ")}</span>`}
        <span>${latest.metadata.source}</span>
        <span>${cstp.plural(turns.length, "turn")} read</span>
      </p>
      <${cstp.Snippet} text=${latest.content} lead=${html`<b>${speakerOf(latest.metadata)}:</b> `} short />
    </${Row}>`;
  }

  function Latest({ upTo }) {
    const found = useConversations(upTo);
    const groups = [...found.groups.values()];
    if (found.error && !groups.length) return html`<${cstp.Failure} error=${found.error} again=${found.older} />`;
    if (!groups.length) {
      return found.loading
        ? html`<${cstp.Placeholder} lines=${12} />`
        : html`<p class="empty">There is no conversation${upTo ? " up to that day" : ""} that this token may see.${" "}
            <code>cstp.remember</code> and <code>cstp ingest</code> bring them.</p>`;
    }
    const read = groups.reduce((sum, group) => sum + group.turns.size, 0);
    return html`<ol class="results tiles" aria-label="Conversations, the latest first">
        ${groups.map((group) => html`<${Conversation} key=${group.id} group=${group} />`)}
      </ol>
      ${found.error && html`<${cstp.Failure} error=${found.error} again=${found.older} />`}
      <div class="bar more">
        ${found.more
          ? html`<button type="button" disabled=${found.loading} onClick=${found.older}>
              ${found.loading ? "Reading …" : "Older conversations"}
            </button>`
          : null}
        <span class="hint" role="status">
          ${cstp.plural(groups.length, "conversation")} among the ${cstp.plural(read, "turn")} read${
            found.more ? html`, back to <${cstp.Time} at=${found.oldest} />` : ""}
          ${!found.more && found.total > read
            ? html`; ${cstp.plural(found.total - read, "turn")} without a time cannot be listed, a search finds them`
            : null}
        </span>
      </div>
      <${cstp.CallShown} method="cstp.recall"
        params=${{ context: "conversation", limit: PAGE, ...BARE, dateTo: upTo || null }} />`;
  }

  function Said({ params, query }) {
    const asked = useMemo(
      () => ({ query, kinds: ["turn"], limit: PAGE, dateTo: params.to || null }),
      [query, params.to],
    );
    const found = cstp.useCall("cstp.search", asked, { delay: 120, keep: true });
    return html`<${cstp.Answer} of=${found} lines=${12} isEmpty=${({ results }) => !results.length}
      empty="No turn that this token may see says that."
      show=${({ results, queryTimeMs }) => html`
        <p class="hint" role="status">
          ${cstp.found(results.length, "turn", PAGE)} in ${queryTimeMs} ms, the best first
        </p>
        <ol class="results" aria-label="Turns that were found">
          ${results.map(
            (turn) => html`<${Row} key=${turn.id} label=${`turn of ${turn.title ?? "someone"}`}>
              <h2>
                <a href=${cstp.address.to(["conversation", turn.sourceId], { turn: turn.id, q: query })}>
                  ${turn.title ?? "Someone"} in ${turn.sourceId}
                </a>
              </h2>
              <p class="meta"><${cstp.Time} at=${turn.date} hours /><span>score ${turn.score.toFixed(2)}</span></p>
              <${cstp.Snippet} text=${turn.snippet} query=${query} />
            </${Row}>`,
          )}
        </ol>
        <${cstp.CallShown} method="cstp.search" params=${asked} />`} />`;
  }

  function Conversations({ params }) {
    const query = (params.q ?? "").trim();
    const set = (changed) => cstp.address.go("conversations", { ...params, ...changed }, { replace: true });
    return html`<${cstp.PageHead} title="Conversations" />
      <div class="bar">
        <label class="choice wide">
          Search what was said
          <input type="search" autocomplete="off" spellcheck=${false} value=${params.q ?? ""}
            onInput=${(event) => set({ q: event.currentTarget.value })} />
        </label>
        <label class="choice">
          Up to
          <input type="date" value=${params.to ?? ""} onChange=${(event) => set({ to: event.currentTarget.value })} />
        </label>
      </div>
      ${query ? html`<${Said} params=${params} query=${query} />` : html`<${Latest} upTo=${params.to ?? ""} />`}`;
  }

  cstp.pages.conversations = Conversations;
  Object.assign(cstp, { Row, speakerOf });
}
