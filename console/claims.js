// What an operator can claim about an unknown outcome: that it happened, or that it did not.
import { Action, Field, LongField } from './action.js'
import { change } from './api.js'
import { html } from './html.js'
import { AmountOf, Status, Tenant } from './parts.js'
import { useSession } from './session.js'

/**
 * @typedef {import('../client/schema.ts').components['schemas']} Schemas
 * @typedef {object} ChangeProps
 * @property {Schemas['OperationWithTimeline']} operation
 * @property {string} path
 * @property {() => void} done
 * @property {(isOpen: boolean) => void} onToggle
 */

/** @param {any} result */
export function showResult(result) {
  if (result?.object === 'resolution_proposal') {
    return html`<p>
      <strong>Proposed.</strong> Another operator must confirm it on this page within 24 hours. The
      overview and the list of operations show that it waits.
    </p>`
  }
  const { verdict, shown } = result.resolution ?? {}
  return html`<p>
    ${
      verdict === null || verdict === undefined
        ? 'Claimed. The look-up is not finished: its verdict will be on the page.'
        : html`The look-up says: <${Status} status=${verdict} />. ${shown}`
    }
  </p>`
}

/** What a claim is about, and what follows. @param {{ operation: Schemas['OperationWithTimeline'] }} props */
function Steps({ operation }) {
  const { session } = useSession()
  return html`
    <${Subject} operation=${operation} />
    <p>
      A worker looks at the provider, and what it finds is recorded, even if it contradicts you.
      ${session?.dual_control && ' First another operator must confirm what you state.'}
    </p>
  `
}

/** @param {{ operation: Schemas['OperationWithTimeline'] }} props */
export function Subject({ operation }) {
  return html`<p>
    <${AmountOf} operation=${operation} />, ${operation.operation} of${' '}
    <${Tenant} id=${operation.tenant} />
  </p>`
}

/** The id in what the provider answered last. @param {Schemas['OperationWithTimeline']} operation */
function seenProviderId({ timeline }, /** @type {string} */ prefix) {
  const answers = timeline.map(({ provider }) => JSON.stringify(provider?.answered ?? {}))
  const ids = answers.flatMap((answer) => answer.match(new RegExp(`\\b${prefix}\\w+`))?.[0] ?? [])
  return ids.at(-1)
}

/** @param {ChangeProps} props */
export function Happened({ operation, path, done, onToggle }) {
  const isRefund = operation.refund !== null
  const prefix = isRefund ? 're_' : 'pi_'
  const seen = seenProviderId(operation, prefix)
  return html`<${Action}
    label="It happened"
    title="State that it happened?"
    danger=${true}
    confirm="State that it happened"
    done=${done}
    onToggle=${onToggle}
    show=${showResult}
    run=${(/** @type {any} */ { provider_id, note }) =>
      change('POST', `${path}/resolve`, { outcome: 'happened', provider_id, note })}
  >
    <${Steps} operation=${operation} />
    <p>
      If the provider shows this ${isRefund ? 'refund' : 'payment'}, the operation is completed with
      it.
    </p>
    <${Field}
      label="Provider id"
      name="provider_id"
      required
      placeholder=${`${prefix}...`}
      defaultValue=${seen}
      hint=${`The id of the ${isRefund ? 'refund' : 'payment intent'} at the provider${seen === undefined ? '' : ', as it answered last'}.`}
    />
    <${LongField}
      label="How do you know?"
      name="note"
      required
      maxlength="500"
      hint="It is stored in the audit trail."
    />
  <//>`
}

/** @param {ChangeProps} props */
export function DidNotHappen({ operation, path, done, onToggle }) {
  const isRefund = operation.refund !== null
  return html`<${Action}
    label="It did not happen"
    title="State that it did not happen?"
    danger=${true}
    confirm="State that it did not happen"
    done=${done}
    onToggle=${onToggle}
    show=${showResult}
    run=${(/** @type {any} */ { proof, unverified }) =>
      change('POST', `${path}/resolve`, {
        outcome: 'did_not_happen',
        proof,
        ...(unverified === 'on' ? { unverified: true } : {}),
      })}
  >
    <${Steps} operation=${operation} />
    <p>
      If the look-up finds nothing, the client may retry, and then
      ${isRefund ? 'money is returned' : 'the card may be charged'}.
    </p>
    <${LongField}
      label="What proves it?"
      name="proof"
      required
      minlength="10"
      maxlength="500"
      hint="It is stored in the audit trail."
    />
    <label class="check">
      <input type="checkbox" name="unverified" />
      <span>
        Act on it even if the look-up fails. If you are wrong, a retry${' '}
        ${isRefund ? 'returns the money' : 'charges'} a second time. This needs a second operator.
      </span>
    </label>
  <//>`
}
