// One reconciliation: its progress, its counts and its findings.
import { withQuery } from './api.js'
import { FindingList } from './findings.js'
import { words } from './format.js'
import { html } from './html.js'
import { Facts, Foreign, Loading, Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { listQuery, Pager, Table } from './table.js'

/** @param {{ route: import('./route.js').Route }} props */
export function Reconciliation({ route }) {
  const { id = '' } = route
  const path = withQuery(`/admin/reconciliations/${encodeURIComponent(id)}`, listQuery(route))
  const run = useResource(path, { everyMs: 1_000 })
  const { value } = run
  return html`
    <h1>Reconciliation <code>${id}</code></h1>
    ${
      value === undefined
        ? html`<${Loading} of=${run} />`
        : html`
            <${RunFacts} run=${value} />
            <${Counts} counts=${value.counts} />
            <h2>Findings</h2>
            <${FindingList} list=${{ ...run, value: value.findings }} />
            <${Pager}
              route=${route}
              items=${value.findings.data}
              hasMore=${value.findings.has_more}
            />
          `
    }
  `
}

/** @param {{ run: any }} props */
function RunFacts({ run }) {
  /** @type {[string, unknown][]} */
  const facts = [
    ['Status', html`<span role="status"><${Status} status=${run.status} /></span>`],
    ['From', html`<${Time} at=${run.from} />`],
    ['To', html`<${Time} at=${run.to} />`],
    ['Provider', run.provider],
    ['Requested by', html`<bdi>${run.requested_by}</bdi>`],
    ['Requested', html`<${Time} at=${run.created_at} />`],
    ['Finished', html`<${Time} at=${run.finished_at} />`],
    ['Last error', html`<${Foreign} text=${run.last_error} />`],
  ]
  return html`<${Facts} facts=${facts} />`
}

/** @param {{ counts: Record<string, number> }} props */
function Counts({ counts }) {
  return html`<${Table}
    caption="What was compared"
    columns=${['Objects', 'Number']}
    empty="Nothing yet."
    rows=${Object.entries(counts).map(([name, number]) => ({
      key: name,
      cells: [words(name), number],
    }))}
  />`
}
