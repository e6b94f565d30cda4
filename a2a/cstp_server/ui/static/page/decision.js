"use strict";
// One decision whole: what was decided and why, how it turned out, what changed, what it is linked with, who read it.
{
  const { html } = cstp;
  const { useEffect, useMemo, useState } = cstp.hooks;

  const OUTGOING = {
    supersedes: "Supersedes", depends_on: "Depends on", relates_to: "Relates to", contradicts: "Contradicts",
    refines: "Refines", caused_by: "Caused by", blocks: "Blocks",
  };
  const INCOMING = {
    supersedes: "Superseded by", depends_on: "Needed by", relates_to: "Related from", contradicts: "Contradicted by",
    refines: "Refined by", caused_by: "Led to", blocks: "Blocked by",
  };

  function Section({ title, children, of }) {
    if (of !== undefined && !of?.length) return null;
    return html`<section aria-label=${title}><h2>${title}</h2>${children}</section>`;
  }

  function Reasons({ decision }) {
    return html`<${Section} title="Reasons" of=${decision.reasons}>
      <ul>${decision.reasons.map(
        (one) => html`<li><strong>${one.type}</strong>${one.text ? `: ${one.text}` : ""}
          ${one.strength === null ? null : html` <${cstp.Percent} value=${one.strength} />`}</li>`,
      )}</ul>
    </${Section}>
    <${Section} title="Alternatives" of=${decision.alternatives}>
      <ul>${decision.alternatives.map(
        (one) => html`<li><strong>${one.option}</strong>${one.why ? html` – not taken: ${one.why}` : ""}</li>`,
      )}</ul>
    </${Section}>`;
  }

  function Reviews({ reviews }) {
    return html`<${Section} title="Reviews" of=${reviews}>
      <ol class="results">
        ${reviews.map(
          (one) => html`<li class="card">
            <p class="meta"><${cstp.Pill} kind="outcome" value=${one.outcome} /> ${one.reviewedBy}${one.selfReview ? " (its own decision)" : ""}, <${cstp.Time} at=${one.reviewedAt} hours=${true} />
              ${one.previousOutcome ? html`<span>before: ${one.previousOutcome}</span>` : null}</p>
            ${one.actualResult && html`<p class="text">${one.actualResult}</p>`}
            ${one.lessons && html`<p class="text"><strong>Learned:</strong> ${one.lessons}</p>`}
            ${one.notes && html`<p class="text muted">${one.notes}</p>`}
            <${cstp.Facts} rows=${[
              ["KPIs", Object.entries(one.affectedKpis ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")],
              ["Evidence", one.evidence.map((proof) => proof.uri).join(", ")],
            ]} />
          </li>`,
        )}
      </ol>
    </${Section}>`;
  }

  /** What a decision is linked with, by id: from its links, and from the files that say what replaces what. */
  function linksOf({ id, links = [], supersedes, supersededBy }) {
    const linked = links.map((link) => {
      const out = link.sourceId === id;
      return { name: (out ? OUTGOING : INCOMING)[link.edgeType] ?? link.edgeType, other: out ? link.targetId : link.sourceId, context: link.context };
    });
    const stated = [[OUTGOING.supersedes, supersedes], [INCOMING.supersedes, supersededBy]]
      .flatMap(([name, ids]) => ids.map((other) => ({ name, other })))
      .filter((one) => !linked.some((link) => link.name === one.name && link.other === one.other));
    return [...linked, ...stated];
  }

  /** The decisions next to one, by id, for their titles. */
  function useNeighbours(decision) {
    const graph = cstp.useCall("cstp.getGraph", linksOf(decision).length ? { nodeId: decision.id, depth: 1 } : null);
    return useMemo(() => new Map((graph.result?.nodes ?? []).map((node) => [node.id, node])), [graph.result]);
  }

  const Title = ({ of, id }) => html`<${cstp.RecordLink} type="decision" id=${id}>${of.get(id)?.title ?? id}</${cstp.RecordLink}>`;

  /** What is in force instead of a decision that is superseded. */
  function Successors({ decision, titles }) {
    if (decision.status !== "superseded" || !decision.supersededBy.length) return null;
    return html`<p class="card superseded" role="note">Superseded by ${decision.supersededBy.map(
      (id, at) => html`${at ? ", " : ""}<${Title} of=${titles} id=${id} />`)}.</p>`;
  }

  /** Links of both directions, by kind, with the titles of what they lead to. */
  function Links({ decision, titles }) {
    const groups = new Map();
    for (const link of linksOf(decision)) groups.set(link.name, [...(groups.get(link.name) ?? []), link]);
    return html`<${Section} title="Links">
      ${groups.size === 0 ? html`<p class="muted">None.</p>` : null}
      <dl class="facts">
        ${[...groups].map(([name, links]) => html`<div><dt>${name}</dt><dd><ul class="plain">
          ${links.map((link) => html`<li>
            <${Title} of=${titles} id=${link.other} />
            ${titles.get(link.other)?.status ? html` <${cstp.Pill} kind="status" value=${titles.get(link.other).status} />` : null}
            ${link.context ? html` <span class="muted">${link.context}</span>` : null}
          </li>`)}
        </ul></dd></div>`)}
      </dl>
      <p><a href=${cstp.address.to(["graph", decision.id])}>See them as a graph</a></p>
    </${Section}>`;
  }

  /** What changed between two revisions of a text, as insertions and deletions. */
  function Difference({ before, after }) {
    const [parts, setParts] = useState(null);
    useEffect(() => {
      let wanted = true;
      cstp.library("diff.js").then(
        () => wanted && setParts(Diff.diffWordsWithSpace(before ?? "", after ?? "", { timeout: 500 }) ?? [{ value: after, added: true }, { value: before, removed: true }]),
        (error) => wanted && setParts([{ value: error.message }]),
      );
      return () => {
        wanted = false;
      };
    }, [before, after]);
    if (parts === null) return html`<${cstp.Placeholder} lines=${3} />`;
    return html`<div class="difference text">
      ${parts.map((part) =>
        part.added ? html`<ins>${part.value}</ins>` : part.removed ? html`<del>${part.value}</del>` : shortened(part.value),
      )}
    </div>`;
  }

  /** The middle of a long unchanged part is left out. */
  const shortened = (text) => (text.length > 400 ? `${text.slice(0, 180)} … ${text.slice(-180)}` : text);

  function History({ decision }) {
    const revisions = decision.history ?? [];
    if (!revisions.length) return null;
    const now = { revision: decision.provenance.revision, title: decision.title, text: decision.text, confidence: decision.confidence, status: decision.status };
    const known = revisions.some((one) => one.revision === now.revision) ? revisions : [...revisions, now];
    const ordered = [...known].sort((one, other) => other.revision - one.revision);
    return html`<${Section} title="History">
      ${ordered.map((one, at) => {
        const older = ordered[at + 1];
        return html`<details class="revision">
          <summary>Revision ${one.revision}${one.at ? html`, <${cstp.Time} at=${one.at} hours=${true} />` : ""}${one.by ? ` by ${one.by}` : ""}${one.changed?.length ? `: ${one.changed.join(", ")}` : ""}</summary>
          ${one.reason && html`<p class="muted">${one.reason}</p>`}
          ${older
            ? html`<${cstp.Facts} rows=${["title", "status", "confidence"].map((name) => [name, older[name] !== one[name] ? `${older[name] ?? "–"} → ${one[name] ?? "–"}` : null])} />
              <${Difference} before=${older.text} after=${one.text} />`
            : html`<p class="muted">The first one that is known.</p>`}
        </details>`;
      })}
    </${Section}>`;
  }

  /** Who read or wrote it, from the audit, where the visitor may see that. */
  function Readers({ id }) {
    const visitor = cstp.useVisitor();
    const audit = cstp.useCall("cstp.audit", visitor.may("admin") ? { id, limit: 20 } : null);
    if (!visitor.live) return null;
    if (!visitor.may("admin")) {
      return html`<${Section} title="Who read it"><p class="muted">The audit needs a token with the scope admin.</p></${Section}>`;
    }
    return html`<${Section} title="Who read it">
      <${cstp.Answer} of=${audit} lines=${3} isEmpty=${(found) => !found.rows.length} empty="No call has returned it yet."
        show=${(found) => html`<ul class="plain">
          ${found.rows.map((row) => html`<li><${cstp.Time} at=${row.at} hours=${true} /> ${row.agent} <code>${row.method}</code></li>`)}
        </ul>
        <p><a href=${cstp.address.to("activity", { id })}>All calls</a></p>`} />
    </${Section}>`;
  }

  const known = (value) => (value === null || value === undefined || (Array.isArray(value) && !value.length) ? null : value);

  function Side({ decision }) {
    const { provenance } = decision;
    const place = [decision.file, decision.line].filter((one) => known(one) !== null).join(":");
    return html`<aside class="card" aria-label="About it">
      <${cstp.Facts} rows=${[
        ["Status", html`<${cstp.Pill} kind="status" value=${decision.status} />`],
        ["Outcome", decision.outcome && html`<${cstp.Pill} kind="outcome" value=${decision.outcome} />`],
        ["Confidence", decision.confidence !== null && html`<${cstp.Percent} value=${decision.confidence} />`],
        ["Category", decision.category],
        ["Stakes", decision.stakes],
        ["Date", decision.date && html`<${cstp.Time} at=${decision.date} source=${decision.dateSource} />`],
        ["Review by", decision.reviewBy && html`<${cstp.Time} at=${decision.reviewBy} />`],
        ["Valid", known(decision.validFrom ?? decision.validTo) && html`<${cstp.Time} at=${decision.validFrom} /> to <${cstp.Time} at=${decision.validTo} />`],
        ["Tags", decision.tags.length > 0 && html`${decision.tags.map((tag, at) => html`${at ? ", " : ""}<a href=${cstp.address.to("decisions", { tag })}>${tag}</a>`)}`],
        ["Project", decision.project],
        ["Sensitivity", decision.sensitivity],
        ["Pattern", decision.pattern],
        ["Feature", decision.feature],
        ["Pull request", decision.pr],
        ["Place", place],
        ["Commit", decision.commit && html`<code>${decision.commit}</code>`],
        ["KPIs", decision.kpiIndicators.join(", ")],
        ["State of mind", decision.mentalState],
        ["Thread", decision.threadId],
      ]} />
      <${Section} title="Governs" of=${decision.affects}>
        <ul class="plain">${decision.affects.map((part) => html`<li>${part.type} <code>${part.pattern}</code></li>`)}</ul>
      </${Section}>
      <${Section} title="Provenance">
        <${cstp.Facts} rows=${[
          ["Recorded by", provenance.recordedBy ?? "the operator"],
          ["Recorded", html`<${cstp.Time} at=${provenance.recordedAt} hours=${true} />`],
          ["Through", provenance.via],
          ["File", provenance.path && html`<code>${provenance.path}</code>`],
          ["Ratified by", provenance.ratifiedBy],
          ["Revision", String(provenance.revision)],
          ["Content hash", html`<code title=${provenance.contentHash}>${provenance.contentHash.slice(0, 12)}…</code>`],
          ["Id", html`<code>${decision.id}</code> <${cstp.Copy} text=${decision.id} label="Copy the id" />`],
        ]} />
      </${Section}>
    </aside>`;
  }

  /** What agents added of their own: traces, deliberations and members that no field is for. */
  function Further({ decision }) {
    const parts = [
      ["Trace", decision.trace], ["Deliberation", decision.deliberation], ["Bridge", decision.bridge],
      ["Before the decision", decision.preDecision], ["Other members", Object.keys(decision.given ?? {}).length ? decision.given : null],
    ].filter(([, value]) => known(value) !== null);
    return html`${parts.map(([title, value]) => html`<details class="revision"><summary>${title}</summary>
      <pre tabindex="0">${JSON.stringify(value, null, 2)}</pre></details>`)}`;
  }

  function Whole({ decision, params, again }) {
    const titles = useNeighbours(decision);
    return html`<${cstp.PageHead} title=${decision.title}>
        <${cstp.Pill} kind="status" value=${decision.status} />
      </${cstp.PageHead}>
      <${Successors} decision=${decision} titles=${titles} />
      <${cstp.DecisionActions} decision=${decision} done=${again} />
      <div class="columns">
        <div>
          ${decision.context && !decision.text.includes(decision.context) && html`<${Section} title="Context"><${cstp.Markdown} text=${decision.context} /></${Section}>`}
          <article class="card" aria-label="The decision"><${cstp.Markdown} text=${decision.text} /></article>
          <${Reasons} decision=${decision} />
          <${Section} title="Rests on" of=${decision.sources}>
            <ul>${decision.sources.map((source) => html`<li><code>${source.uri}</code>${source.quote ? html`: <q>${source.quote}</q>` : null}</li>`)}</ul>
          </${Section}>
          <${Reviews} reviews=${decision.reviews ?? []} />
          <${Links} decision=${decision} titles=${titles} />
          <${History} decision=${decision} />
          <${Further} decision=${decision} />
        </div>
        <div>
          <${Side} decision=${decision} />
          <${Readers} id=${decision.id} />
          <${KnownAt} params=${params} id=${decision.id} />
        </div>
      </div>
      <${cstp.CallShown} method="cstp.getDecision" params=${{ id: decision.id }} />`;
  }

  function KnownAt({ params, id }) {
    if (!cstp.useVisitor().live) return null; // what a site holds is known now
    return html`<${Section} title="As it was known">
      <label class="choice">On <input type="date" value=${params.knownAt ?? ""}
        onChange=${(event) => cstp.address.go(["decision", id], { ...params, knownAt: event.currentTarget.value }, { replace: true })} /></label>
      ${params.knownAt ? html` <a href=${cstp.address.to(["decision", id])}>Now</a>` : null}
    </${Section}>`;
  }

  function Decision({ path, params }) {
    const [id] = path;
    const found = cstp.useCall("cstp.getDecision", { id: id ?? "", knownAt: params.knownAt || null }, { keep: true });
    const title = html`<${cstp.PageHead} title="Decision" />`;
    if (found.error) return html`${title}<${cstp.Failure} error=${found.error} again=${found.again} />
      <p><a href=${cstp.address.to("decisions")}>All decisions</a></p>
      ${params.knownAt ? html`<${KnownAt} params=${params} id=${id} />` : null}`;
    if (!found.result) return html`${title}<${cstp.Placeholder} lines=${14} />`;
    return html`<${Whole} decision=${found.result.decision} params=${params} again=${found.again} />`;
  }

  cstp.pages.decision = Decision;
  Object.assign(cstp, { Section });
}
