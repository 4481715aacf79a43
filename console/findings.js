// Findings: what the service could not repair by itself, with our record and the provider's.
import { Action, LongField } from './action.js'
import { change, withQuery } from './api.js'
import { words } from './format.js'
import { html } from './html.js'
import { Facts, Foreign, Id, Loading, ProblemNote, Status, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { Sides } from './sides.js'
import { ChoiceFilter, Filters, listQuery, Pager, TextFilter } from './table.js'

/** @typedef {import('../client/operators-schema.ts').components['schemas']['Finding']} FindingBody */

const STATUSES = [
  ['', 'any'],
  ['open', 'open'],
  ['resolved', 'resolved'],
]

/** A list of findings, or one of them. @param {{ route: import('./route.js').Route }} props */
export function Findings({ route }) {
  const { id, query } = route
  const path =
    id === undefined
      ? withQuery('/admin/findings', listQuery(route))
      : `/admin/findings/${encodeURIComponent(id)}`
  const list = useResource(path, { everyMs: 5_000, live: true })
  const { value } = list
  if (id !== undefined) return html`<${One} finding=${list} />`
  return html`
    <h1>Findings</h1>
    <p>What the service could not repair by itself. Each needs a person.</p>
    <${Filters} ...${{ route, problem: list.problem }}>
      <${ChoiceFilter} label="Status" name="status" value=${query['status']} options=${STATUSES} />
      <${TextFilter}
        label="Reconciliation"
        name="reconciliation"
        value=${query['reconciliation']}
        hint="rec_..."
      />
    <//>
    <${FindingList} list=${list} />
    ${
      value !== undefined &&
      html`<${Pager} route=${route} items=${value.data} hasMore=${value.has_more} />`
    }
  `
}

/** @param {{ finding: import('./resource.js').Resource }} props */
function One({ finding }) {
  return html`
    <h1>Finding</h1>
    <${FindingList} list=${{ ...finding, value: finding.value && { data: [finding.value] } }} />
    <p><a href="#/findings">All findings</a></p>
  `
}

/** @param {{ list: import('./resource.js').Resource }} props */
export function FindingList({ list }) {
  if (list.value === undefined) return html`<${Loading} of=${list} />`
  return html`
    <${ProblemNote} problem=${list.problem} />
    ${list.value.data.length === 0 && html`<p class="quiet">No finding.</p>`}
    ${list.value.data.map(
      (/** @type {FindingBody} */ finding) =>
        html`<${Finding} key=${finding.id} finding=${finding} done=${list.reload} />`,
    )}
  `
}

/** @param {{ finding: FindingBody, done: () => void }} props */
function Finding({ finding, done }) {
  const { id, kind, status } = finding
  /** @type {[string, unknown][]} */
  const facts = [
    ['Status', html`<${Status} status=${status} />`],
    ['About', html`<${Foreign} text=${finding.about} />`],
    ['Tenant', html`<${Tenant} id=${finding.tenant} />`],
    ['Payment', html`<${Id} id=${finding.payment} />`],
    ['Operation', html`<${Id} id=${finding.operation} />`],
    ['Reconciliation', html`<${Id} id=${finding.reconciliation} />`],
    ['Opened', html`<${Time} at=${finding.opened_at} />`],
  ]
  if (status !== 'open') {
    facts.push(
      ['Resolved', html`<${Time} at=${finding.resolved_at} />`],
      ['By', html`<${Foreign} text=${finding.resolved_by} />`],
      ['Note', html`<${Foreign} text=${finding.note} />`],
    )
  }
  return html`<article class="card" aria-labelledby=${id}>
    <h2 id=${id}>
      ${words(kind)} <a class="quiet" href=${`#/findings/${id}`}><code>${id}</code></a>
    </h2>
    <${Facts} facts=${facts} />
    <${Sides} finding=${finding} />
    ${
      status === 'open' &&
      html`<${Action}
        label="Resolve"
        name=${`Resolve ${id}`}
        title="Close this finding?"
        done=${done}
        confirm="Close the finding"
        run=${(/** @type {Record<string, string>} */ { note }) =>
          change('POST', `/admin/findings/${id}/resolve`, { note })}
      >
        <p>It only records that you dealt with it. Nothing changes at the provider.</p>
        <${LongField}
          label="What was done?"
          name="note"
          required
          maxlength="500"
          hint="It is stored with the finding, and in the audit trail."
        />
      <//>`
    }
  </article>`
}
