// How an operator resolves an unknown outcome: by the provider's id, or by a proof that nothing
// happened. Where two operators are needed, the second one confirms what the first one proposed.
import { useState } from 'preact/hooks'
import { Action } from './action.js'
import { change } from './api.js'
import { DidNotHappen, Happened, PROPOSAL_HOURS, showResult, Subject } from './claims.js'
import { html } from './html.js'
import { Facts, Id, Json, Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { useSession } from './session.js'
import { Sides } from './sides.js'

/**
 * @typedef {import('../client/schema.ts').components['schemas']} Schemas
 * @typedef {{ operation: Schemas['OperationWithTimeline'], path: string, done: () => void }} Props
 * @typedef {Props & { onToggle: (isOpen: boolean) => void }} ChangeProps
 */

/** @param {Props & { trail: Schemas['AdminAction'][] }} props `trail`: newest first. */
export function Resolution({ operation, path, trail, done }) {
  const now = { operation, proposal: openProposal(operation, trail) }
  const [held, hold] = useState(/** @type {typeof now | undefined} */ (undefined))
  if (operation.status !== 'unknown' && operation.resolution === null && !held) return null
  // An open dialog keeps its operation and proposal: the page is read again meanwhile.
  const { operation: open, proposal } = held ?? now
  const onToggle = (/** @type {boolean} */ isOpen) => hold(isOpen ? now : undefined)
  const props = { operation: open, path, done, onToggle }
  return html`
    <h2>The outcome</h2>
    <${Evidence} operation=${operation} />
    ${
      open.status === 'unknown' &&
      html`
        ${proposal !== undefined && html`<${Proposal} ...${{ ...props, proposal }} />`}
        <p class="buttons">
          <${Happened} ...${props} />
          <${DidNotHappen} ...${props} />
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

/** @param {ChangeProps & { proposal: Schemas['AdminAction'] }} props */
function Proposal({ proposal, operation, path, done, onToggle }) {
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
        show=${showResult}
        onToggle=${onToggle}
      >
        <${Subject} operation=${operation} />
        <p>
          You state the same as ${actor}. A worker looks at the provider, and acts on its answer.
        </p>
        <${Json} value=${details['proposed']} label="What you confirm" />
      <//>`
    }
  </section>`
}
