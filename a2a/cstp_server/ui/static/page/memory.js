"use strict";
// One artifact, turn, event or passage of the memory: its text with the evidence of events, and what is related to it.
{
  const { html } = cstp;
  const { useEffect, useMemo, useState } = cstp.hooks;

  const BARE = { expand: false, includeEvents: false, includeEntities: false };
  const MOST_EVIDENCE = 12; // events whose evidence is read without being asked for
  const MOST_TEXT = 200_000; // characters that are shown at once
  const REASONS = { same_actor: "names", same_subject: "is about", edge: "is linked with" };

  /** Where a quote is in a text, as [start, end] in JavaScript's units; null where it is not. */
  function located(text, { quote, startChar }) {
    if (startChar !== null) {
      // the server counts code points
      const start = /[\ud800-\udfff]/.test(text) ? [...text].slice(0, startChar).join("").length : startChar;
      if (text.startsWith(quote, start)) return [start, start + quote.length];
    }
    const at = text.indexOf(quote);
    if (at >= 0) return [at, at + quote.length];
    const words = quote.trim().split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const match = words[0] ? new RegExp(words.join("\\s+")).exec(text) : null;
    return match ? [match.index, match.index + match[0].length] : null;
  }

  /** The text cut where quotes begin and end: [{ text, events }], `events` those whose quotes cover it. */
  function segments(text, spans) {
    const cuts = [...new Set([0, text.length, ...spans.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
    return cuts.slice(0, -1).map((start, at) => ({
      text: text.slice(start, cuts[at + 1]),
      begins: spans.filter((span) => span.start === start),
      events: spans.filter((span) => span.start <= start && span.end > start),
    }));
  }

  /** A text whose quotes are marked, each with the numbers of the events that it is the evidence of. */
  function Evident({ text, events, query }) {
    const [whole, setWhole] = useState(false);
    const shown = whole ? text : text.slice(0, MOST_TEXT);
    const parts = useMemo(() => {
      const spans = [];
      events.forEach((event, index) => {
        for (const quote of event.evidence ?? []) {
          const place = located(text, quote);
          if (place) spans.push({ start: place[0], end: place[1], number: index + 1, event });
        }
      });
      return segments(shown, spans.filter((span) => span.end <= shown.length));
    }, [text, shown, events]);
    return html`<div class="text">
      ${parts.map(({ text: part, begins, events: of }) => {
        const inside = html`<${cstp.Marked} text=${part} query=${query} />`;
        if (!of.length) return inside;
        return html`${begins.map(({ number, event }) => html`<a class="quote-number" href=${cstp.address.to(["memory", event.id])}
            aria-label=${`Evidence of event ${number}`}>${number}</a>`)}<mark class="evidence" tabindex="-1"
            data-evidence=${of.map(({ number }) => number).join(" ")} title=${of.map(({ event }) => event.narrative).join("\n")}>${inside}</mark>`;
      })}
      ${shown.length < text.length && html`<p><button type="button" onClick=${() => setWhole(true)}>
        All ${cstp.count(text.length)} characters
      </button></p>`}
    </div>`;
  }

  /** The evidence of events by their ids; attached events come without it, so each is read by its id, one by one. */
  function useEvidence(events) {
    const { call } = cstp.useVisitor();
    const [found, setFound] = useState({ quotes: {}, ready: !events.length });
    useEffect(() => {
      const stop = new AbortController();
      const read = async () => {
        const quotes = {};
        try {
          for (const { id } of events.slice(0, MOST_EVIDENCE)) {
            const { results } = await call("cstp.recall", { id, ...BARE }, stop.signal);
            quotes[id] = results[0].metadata.evidence;
          }
        } catch (error) {
          if (error.name === "AbortError") return; // else the list says whose words were not read
        }
        setFound({ quotes, ready: true });
      };
      if (events.length) read();
      return () => stop.abort();
    }, [events, call]);
    return found;
  }

  function showQuote(number) {
    const mark = document.querySelector(`[data-evidence~="${number}"]`);
    mark?.scrollIntoView({ block: "center" });
    mark?.focus({ preventScroll: true });
  }

  const actorsOf = (actors) => actors.map(({ ref, role }) => `${ref} (${role})`).join(", ");

  function Events({ events, evidence, text }) {
    if (!events.length) return null;
    return html`<section>
      <h2>Events</h2>
      <ol class="results" aria-label="Events">
        ${events.map((event, index) => {
          const quotes = evidence[event.id];
          const visible = quotes?.some((quote) => located(text, quote));
          return html`<${cstp.Row} key=${event.id} label=${`event ${index + 1}: ${event.category}`}>
            <h3><a href=${cstp.address.to(["memory", event.id])}>${event.narrative}</a></h3>
            <p class="meta">
              <span class="quote-number">${index + 1}</span>
              <${cstp.Pill} kind="kind" value=${event.category} />
              ${event.eventTime && html`<${cstp.Time} at=${event.eventTime} hours />`}
              ${event.actors.length > 0 && html`<span>${actorsOf(event.actors)}</span>`}
              ${event.subject && html`<span>about ${event.subject.ref}</span>`}
              ${event.confidence !== null && html`<${cstp.Percent} value=${event.confidence} />`}
              <span class="evidence-place">${visible
                ? html`<button type="button" class="small" onClick=${() => showQuote(index + 1)}>Show the words</button>`
                : quotes ? "its words are not in this text" : "its words are on its page"}</span>
            </p>
          </${cstp.Row}>`;
        })}
      </ol>
    </section>`;
  }

  const titleOf = (item) => {
    const { metadata } = item;
    if (item.type === "event") return metadata.category;
    if (metadata.conversationId) return `${cstp.speakerOf(metadata)} in ${metadata.conversationId}`;
    return metadata.title ?? cstp.shortened(cstp.plain(item.content), 60);
  };

  function Related({ related }) {
    return html`<section>
      <h2>Related</h2>
      ${!related.length && html`<p class="empty">Nothing shares a person, a subject or a link with it.</p>`}
      <ol class="results" aria-label="Related">
        ${related.map((one) => html`<${cstp.Row} key=${one.id} label=${`${one.type}: ${titleOf(one)}`}>
          <h3><a href=${cstp.address.to(["memory", one.id])}>${titleOf(one)}</a></h3>
          <p class="meta">
            <${cstp.Pill} kind="kind" value=${one.metadata.conversationId ? "turn" : one.type} />
            <span>${REASONS[one.reason]} ${one.via}</span>
            ${one.score !== null && html`<span>score ${one.score.toFixed(2)}</span>`}
            <${cstp.Time} at=${one.metadata.ts ?? one.metadata.eventTime} hours />
          </p>
          <${cstp.Snippet} text=${one.content} short />
        </${cstp.Row}>`)}
      </ol>
    </section>`;
  }

  function Entities({ entities }) {
    if (!entities.length) return null;
    return html`<section class="card">
      <h2>Who and what it names</h2>
      <ul class="plain">
        ${entities.map((one) => html`<li key=${one.id}>
          <a href=${cstp.address.to("search", { q: one.name })}>${one.name}</a>
          <span class="muted"> ${[one.type, one.role, one.organization].filter(Boolean).join(", ")};
            named by ${cstp.plural(one.mentionCount, "record")}</span>
        </li>`)}
      </ul>
    </section>`;
  }

  /** The text of an event with the words that it was read from, in the text that they are in. */
  function EventText({ item, source, query }) {
    const { metadata } = item;
    const text = source.result?.results[0]?.content ?? null;
    const events = useMemo(() => [{ id: item.id, narrative: item.content, evidence: metadata.evidence }], [item]);
    const lost = text === null ? [] : metadata.evidence.filter((quote) => !located(text, quote));
    return html`<div class="card whole-text"><p class="text lead"><${cstp.Marked} text=${item.content} query=${query} /></p></div>
      <h2>The words that it was read from</h2>
      ${!metadata.evidence.length && html`<p class="empty">None were kept.</p>`}
      ${text === null || lost.length
        ? metadata.evidence.map(({ quote }) => html`<blockquote class="card">${quote}</blockquote>`)
        : null}
      ${source.error && html`<${cstp.Failure} error=${source.error} again=${source.again} />`}
      ${text !== null && html`<div class="card whole-text"><${Evident} text=${text} events=${events} /></div>
        <p><a href=${cstp.address.to(["memory", metadata.artifactId])}>The record with all its events</a></p>`}`;
  }

  function Content({ item, source, events, query }) {
    if (item.type === "event") return html`<${EventText} item=${item} source=${source} query=${query} />`;
    if (item.type === "artifact") {
      return html`<div class="card whole-text"><${Evident} text=${item.content} events=${events} query=${query} /></div>`;
    }
    return html`<div class="card whole-text"><${cstp.Markdown} text=${item.content} query=${query} /></div>`;
  }

  const given = (value) => (typeof value === "string" ? value : JSON.stringify(value));

  function About({ item, may }) {
    const { id, metadata: of } = item;
    const conversation = of.conversationId && html`<a href=${cstp.address.to(["conversation", of.conversationId], { turn: id })}>
      ${of.conversationId}</a>`;
    return html`<section class="card">
      <h2>What it is</h2>
      <${cstp.Facts} rows=${[
        ["Conversation", conversation],
        ["Session", of.session],
        ["Turn", of.turnIndex],
        ["Speaker", of.conversationId && cstp.speakerOf(of)],
        ["Role", of.role],
        ["Kind", item.context],
        ["Category", of.category],
        ["When", (of.ts ?? of.eventTime ?? of.date) && html`<${cstp.Time} at=${of.ts ?? of.eventTime ?? of.date} hours />`],
        ["Author", of.author],
        ["With", of.participants?.join(", ")],
        ["Who", of.actors && actorsOf(of.actors)],
        ["About", of.subject && `${of.subject.ref} (${of.subject.type})`],
        ["Confidence", of.confidence !== undefined && of.confidence !== null && html`<${cstp.Percent} value=${of.confidence} />`],
        ["Importance", of.importance !== undefined && html`<${cstp.Percent} value=${of.importance} />`],
        ["Sensitivity", of.sensitivity],
        ["Came by", of.source],
        ["Its id there", of.sourceId],
        ["At its source", of.sourceUrl && html`<${cstp.WebLink} address=${of.sourceUrl} />`],
        ["Document", of.artifactId && html`<a href=${cstp.address.to(["memory", of.artifactId])}>${of.artifactId}</a>`],
        ["Place", of.chunkInfo],
        ["Id", html`<code>${id}</code> <${cstp.Copy} text=${id} />`],
        ...Object.entries(of.given ?? {}).map(([name, value]) => [name, given(value)]),
      ]} />
      <p class="links">
        <a href=${cstp.address.to(["graph", id])}>As a graph</a>
        ${may("admin") && html`<a href=${cstp.address.to("activity", { id })}>Who read it</a>`}
        ${item.type === "decision" && html`<a href=${cstp.address.to(["decision", id])}>The decision with its reviews</a>`}
        ${item.type === "chunk" && !of.artifactId && html`<a href=${cstp.address.to(["passage", id])}>The passage</a>`}
      </p>
    </section>`;
  }

  /** What replaced a memory that is superseded. */
  function Successors({ ids }) {
    if (!ids) return null;
    return html`<p class="card superseded" role="note">Superseded by ${ids.map(
      (id, at) => html`${at ? ", " : ""}<a href=${cstp.address.to(["memory", id])}>${id}</a>`)}.</p>`;
  }

  const NONE = [];

  /** Shown at once when all of it is known, so that nothing moves. */
  function Item({ answer, params, asked }) {
    const { scopes } = cstp.useVisitor();
    const item = answer.results[0];
    const { artifactId } = item.metadata;
    const attached = item.type === "artifact" ? item.events : NONE;
    const evidence = useEvidence(attached);
    const source = cstp.useCall("cstp.recall", item.type === "event" && artifactId ? { id: artifactId, ...BARE } : null);
    const events = useMemo(
      () => attached.map((event) => ({ ...event, evidence: evidence.quotes[event.id] })),
      [attached, evidence],
    );
    if (!evidence.ready || source.loading) return html`<${cstp.Placeholder} lines=${14} />`;
    return html`<div class="columns">
      <div>
        <${Successors} ids=${item.metadata.supersededBy} />
        <${Content} item=${item} source=${source} events=${events} query=${params.q} />
        <${Related} related=${answer.related} />
        <${cstp.CallShown} method="cstp.recall" params=${asked} />
      </div>
      <aside class="cards">
        <${About} item=${item} may=${(scope) => scopes.includes(scope)} />
        <${Events} events=${item.events} evidence=${evidence.quotes} text=${item.content} />
        <${Entities} entities=${answer.entities} />
      </aside>
    </div>`;
  }

  const KINDS = { artifact: "document", chunk: "passage" };

  function Memory({ path, params }) {
    const id = path[0] ?? "";
    const asked = { id, graphBudget: 10, limit: 50, graphFilters: ["*"] };
    const found = cstp.useCall("cstp.recall", asked);
    const item = found.result?.results[0];
    const kind = item && (item.metadata.conversationId ? "turn" : (KINDS[item.type] ?? item.type));
    return html`<${cstp.PageHead} title=${item ? titleOf(item) : found.error ? "No such record" : "Record"}>
        <span class="muted">${kind ?? ""}</span>
        ${kind === "turn" && html`<a href=${cstp.address.to(["conversation", item.metadata.conversationId], { turn: id, q: params.q })}>
          In its conversation</a>`}
      </${cstp.PageHead}>
      <${cstp.Answer} of=${found} lines=${14} isEmpty=${() => !item}
        empty="The record is there, but out of sight of this token."
        show=${(answer) => html`<${Item} answer=${answer} params=${params} asked=${asked} />`} />`;
  }

  cstp.pages.memory = Memory;
}
