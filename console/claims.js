// What an operator can claim about an unknown outcome: that it happened, or that it did not.
import { useState } from 'preact/hooks'
import { Action, Field, LongField } from './action.js'
import { change } from './api.js'
import { Consequences } from './consequences.js'
import { html } from './html.js'
import { AmountOf, Status, Tenant } from './parts.js'

/**
 * @typedef {import('../client/operators-schema.ts').components['schemas']} Schemas
 * @typedef {NonNullable<Schemas['OperationWithTimeline']['claims']>[number]} Claim
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
        <strong>Proposed.</strong> Nothing changes until another operator confirms it on this page,
        within 24 hours. The overview and the list of operations show that it waits.
      </p>
      <${Consequences} of=${result.consequences} />`
  }
  const { verdict, shown, effect } = result.resolution ?? {}
  return html`<p>
    ${
      verdict === null || verdict === undefined
        ? 'Claimed. The lookup is not finished: its verdict will be on the page.'
        : html`The verdict of the lookup is <${Status} status=${verdict} />: ${shown}. ${effect}`
    }
  </p>`
}

/**
 * What a claim is about, and what follows.
 *
 * @param {{ operation: Schemas['OperationWithTimeline'], of: Claim }} props
 */
function Steps({ operation, of }) {
  return html`
    <${Subject} operation=${operation} />
    ${
      of.needs_second_operator &&
      of.consequences.refused === null &&
      html`<p>Nothing follows until another operator confirms what you state.</p>`
    }
    <${Consequences} of=${of.consequences} />
  `
}

/**
 * @param {Schemas['OperationWithTimeline']} operation whose outcome is unknown.
 * @param {Claim['outcome']} outcome
 * @param {boolean} [unverified]
 */
function claimOf({ claims }, outcome, unverified = false) {
  return /** @type {Claim} */ (
    claims?.find((claim) => claim.outcome === outcome && claim.unverified === unverified)
  )
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
    <${Steps} operation=${operation} of=${claimOf(operation, 'happened')} />
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
  const [unverified, setUnverified] = useState(false)
  return html`<${Action}
    label="It did not happen"
    title="State that it did not happen?"
    danger=${true}
    confirm="State that it did not happen"
    done=${done}
    onToggle=${(/** @type {boolean} */ isOpen) => {
      setUnverified(false)
      onToggle(isOpen)
    }}
    show=${showResult}
    run=${(/** @type {any} */ { proof }) =>
      change('POST', `${path}/resolve`, {
        outcome: 'did_not_happen',
        proof,
        ...(unverified ? { unverified } : {}),
      })}
  >
    <${Steps} operation=${operation} of=${claimOf(operation, 'did_not_happen', unverified)} />
    <${LongField}
      label="What proves it?"
      name="proof"
      required
      minlength="10"
      maxlength="500"
      hint="It is stored in the audit trail."
    />
    <label class="check">
      <input
        type="checkbox"
        name="unverified"
        onInput=${(/** @type {Event} */ { currentTarget }) =>
          setUnverified(/** @type {HTMLInputElement} */ (currentTarget).checked)}
      />
      <span>Act on it even if the lookup is not answered. This needs a second operator.</span>
    </label>
  <//>`
}
