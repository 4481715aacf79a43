// How an operator resolves an unknown outcome: by the provider's id, or by a proof that nothing
// happened. Where two operators are needed, the second one confirms what the first one proposed.
import { Action, Field, LongField } from './action.js'
import { change } from './api.js'
import { html } from './html.js'
import { Facts, Id, Json, Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { useSession } from './session.js'
import { Sides } from './sides.js'

/** A proposal that nobody confirmed in this time has no effect. */
const PROPOSAL_HOURS = 24

/**
 * @typedef {import('../client/schema.ts').components['schemas']} Schemas
 * @typedef {{ operation: Schemas['OperationWithTimeline'], path: string, done: () => void }} Props
 */

/** @param {Props & { trail: Schemas['AdminAction'][] }} props `trail`: newest first. */
export function Resolution({ operation, path, trail, done }) {
  if (operation.status !== 'unknown' && operation.resolution === null) return null
  const proposal = openProposal(operation, trail)
  return html`
    <h2>The outcome</h2>
    <${Evidence} operation=${operation} />
    ${
      operation.status === 'unknown' &&
      html`
        ${proposal !== undefined && html`<${Proposal} ...${{ proposal, path, done }} />`}
        <p class="buttons">
          <${Happened} ...${{ operation, path, done }} />
          <${DidNotHappen} ...${{ operation, path, done }} />
        </p>
      `
    }
  `
}

/** @param {{ operation: Props['operation'] }} props */
function Evidence({ operation }) {
  const { finding, resolution, evidence } = operation
  const findings = useResource(
    finding === null ? undefined : '/admin/findings?status=open&limit=100',
  )
  const found = findings.value?.data.find(
    (/** @type {{ id: string }} */ { id }) => id === finding?.id,
  )
  /** @type {[string, unknown][]} */
  const facts = [
    ['Unknown since', html`<${Time} at=${operation.unknown_at} />`],
    ['Last looked up', html`<${Time} at=${operation.checked_at} />`],
    ['Looked up next', html`<${Time} at=${operation.next_check_at} />`],
    ['Finding', html`<${Id} id=${finding?.id} />`],
  ]
  return html`
    <${Facts} facts=${facts} />
    ${found !== undefined && html`<${Sides} finding=${found} />`}
    ${
      evidence !== null &&
      html`<p>Claimed, and not yet looked up:</p>
        <${Json} value=${evidence} label="What an operator claimed" />`
    }
    ${resolution !== null && html`<${Verdict} resolution=${resolution} />`}
  `
}

/** @param {{ resolution: NonNullable<Props['operation']['resolution']> }} props */
function Verdict({ resolution }) {
  const { proposed_by: proposer, claimed_by: claimant, verdict } = resolution
  /** @type {[string, unknown][]} */
  const facts = [
    [
      'Claimed by',
      html`<bdi>${proposer === null ? claimant : `${proposer} and ${claimant}`}</bdi>`,
    ],
    ['Claimed at', html`<${Time} at=${resolution.claimed_at} />`],
    ['Verdict of the look-up', html`<${Status} status=${verdict ?? 'pending'} />`],
    ['The provider showed', resolution.shown ?? html`<span class="quiet">nothing yet</span>`],
    ['Claim', html`<${Json} value=${resolution.claimed} label="The claim" />`],
  ]
  return html`<h3>Last claim</h3>
    <${Facts} facts=${facts} />`
}

/**
 * The newest proposal, unless something has been claimed since, or it is too old.
 *
 * @param {Props['operation']} operation
 * @param {Schemas['AdminAction'][]} trail
 */
function openProposal({ resolution, unknown_at: since }, trail) {
  const oldest = Math.max(
    Date.now() - PROPOSAL_HOURS * 3_600_000,
    Date.parse(resolution?.claimed_at ?? since ?? ''),
  )
  return trail.find(
    ({ action, details, happened_at: at }) =>
      action === 'operation.resolve.propose' &&
      details['proposed'] !== undefined &&
      !(Date.parse(at) < oldest),
  )
}

/** @param {{ proposal: Schemas['AdminAction'], path: string, done: () => void }} props */
function Proposal({ proposal, path, done }) {
  const { session } = useSession()
  const { actor, details, happened_at: at } = proposal
  const isOwn = session?.operator === actor
  return html`<section class="note" aria-label="Open proposal">
    <p>
      <strong><bdi>${actor}</bdi></strong> proposed this on <${Time} at=${at} />. ${' '}
      ${
        isOwn
          ? 'Another operator must confirm it.'
          : 'It counts when an operator other than the one who proposed it confirms it.'
      }
    </p>
    <${Json} value=${details['proposed']} label="The proposed resolution" />
    ${
      !isOwn &&
      html`<${Action}
        label="Confirm the proposal"
        title="Confirm this resolution?"
        danger=${true}
        run=${() => change('POST', `${path}/resolve`, details['proposed'])}
        done=${done}
      >
        <p>
          You state the same as ${actor}. A worker looks at the provider, and acts on its answer.
        </p>
        <${Json} value=${details['proposed']} label="What you confirm" />
      <//>`
    }
  </section>`
}

/** @param {any} result */
function showResult(result) {
  if (result?.object === 'resolution_proposal') {
    return html`<p><strong>Proposed.</strong> ${result.needed}</p>`
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

const STEPS = html`<p>
  A worker looks at the provider, and what it finds is recorded, even if it contradicts you.
</p>`

/** @param {Props} props */
function Happened({ operation, path, done }) {
  const isRefund = operation.refund !== null
  const prefix = isRefund ? 're_' : 'pi_'
  return html`<${Action}
    label="It happened"
    title="State that it happened?"
    danger=${true}
    confirm="State that it happened"
    done=${done}
    show=${showResult}
    run=${(/** @type {any} */ { provider_id, note }) =>
      change('POST', `${path}/resolve`, { outcome: 'happened', provider_id, note })}
  >
    ${STEPS}
    <p>
      If the provider shows this ${isRefund ? 'refund' : 'payment'}, the operation is completed with
      it.
    </p>
    <${Field}
      label="Provider id"
      name="provider_id"
      required
      placeholder=${`${prefix}...`}
      hint=${`The id of the ${isRefund ? 'refund' : 'payment intent'} at the provider.`}
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

/** @param {Props} props */
function DidNotHappen({ path, done }) {
  return html`<${Action}
    label="It did not happen"
    title="State that it did not happen?"
    danger=${true}
    confirm="State that it did not happen"
    done=${done}
    show=${showResult}
    run=${(/** @type {any} */ { proof, unverified }) =>
      change('POST', `${path}/resolve`, {
        outcome: 'did_not_happen',
        proof,
        ...(unverified === 'on' ? { unverified: true } : {}),
      })}
  >
    ${STEPS}
    <p>If the look-up finds nothing, the client may retry, and then it can be charged.</p>
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
      <span>Act on it even if the look-up fails. This needs a second operator.</span>
    </label>
  <//>`
}
