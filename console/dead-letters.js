// Dead letters: jobs that used up their retries. An operator can have them tried again.
import { Action } from './action.js'
import { change, withQuery } from './api.js'
import { plural } from './format.js'
import { html } from './html.js'
import { Foreign, Id, Json, Time } from './parts.js'
import { useResource } from './resource.js'
import { ChoiceFilter, Filters, List, listQuery } from './table.js'

const QUEUES = [
  'operations.dead',
  'provider-events.dead',
  'webhook-deliveries.dead',
  'reconciliations.dead',
]

const COLUMNS = ['About', 'Queue', 'Change', 'Retries', 'Last error', 'Died', 'Job']

/** @param {{ route: import('./route.js').Route }} props */
export function DeadLetters({ route }) {
  const list = useResource(withQuery('/admin/dead-letters', listQuery(route)))
  const { queue = '' } = route.query
  const options = [['', 'all'], ...QUEUES.map((name) => [name, name])]
  const cells = cellsWith(list.reload)
  return html`
    <h1>Dead letters</h1>
    <p>
      Jobs that used up their retries. To redrive one is safe: what may have been executed is looked
      up first.
    </p>
    <${Filters} route=${route}>
      <${ChoiceFilter} label="Queue" name="queue" value=${queue} options=${options} />
    <//>
    <p class="buttons">
      ${QUEUES.filter((name) => queue === '' || queue === name).map(
        (name) => html`<${RedriveQueue} key=${name} queue=${name} done=${list.reload} />`,
      )}
    </p>
    <${List}
      ...${{ list, route, cells }}
      caption="Dead letters, newest first"
      columns=${COLUMNS}
      empty="No dead letter."
    />
  `
}

/** @param {() => void} done */
const cellsWith = (done) => (/** @type {any} */ letter) => [
  html`<${Id} id=${letter.about} />`,
  letter.queue,
  html`<${Action}
    label="Redrive"
    name=${`Redrive ${letter.about ?? letter.id}`}
    title="Try this job again?"
    done=${done}
    show=${showRedrive}
    run=${() => redrive({ queue: letter.queue, ids: [letter.id] })}
  >
    <p>It goes back to its queue with all its retries. If nothing is left to do, it is removed.</p>
  <//>`,
  letter.retries,
  html`<${Foreign} text=${letter.last_error} />`,
  html`<${Time} at=${letter.died_at} />`,
  html`<${Json} value=${letter.job} label=${`The job ${letter.id}`} />`,
]

/** @param {{ queue: string, done: () => void }} props */
function RedriveQueue({ queue, done }) {
  return html`<${Action}
    label=${`Redrive ${queue}`}
    title=${`Try the jobs of ${queue} again?`}
    danger=${true}
    done=${done}
    show=${showRedrive}
    run=${() => redrive({ queue })}
  >
    <p>The 100 oldest jobs of ${queue} go back to their queue, each with all its retries.</p>
  <//>`
}

/** @param {{ queue: string, ids?: string[] }} body */
const redrive = (body) => change('POST', '/admin/dead-letters/redrive', body)

/** @param {import('../client/schema.ts').components['schemas']['Redrive']} result */
function showRedrive({ redriven, needless, kept }) {
  return html`
    <p>
      ${plural(redriven, 'job')} redriven, ${needless} removed as needless, ${kept.length} kept.
    </p>
    ${
      kept.length > 0 &&
      html`<ul>
        ${kept.map(({ id, reason }) => html`<li><code>${id}</code>: ${reason}</li>`)}
      </ul>`
    }
  `
}
