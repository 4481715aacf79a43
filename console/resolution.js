// How an operator resolves an unknown outcome: by the provider's id, or by a proof that nothing
// happened. Where two operators are needed, the second one confirms what the first one proposed.
import { useState } from 'preact/hooks'
import { Action } from './action.js'
import { change } from './api.js'
import { DidNotHappen, Happened, showResult, Subject } from './claims.js'
import { Consequences } from './consequences.js'
import { html } from './html.js'
import { findResolving } from './lookups.js'
import { Members } from './members.js'
import { Facts, Id, Time } from './parts.js'
import { useResource } from './resource.js'
import { useSession } from './session.js'
import { Sides } from './sides.js'
import { LastClaim, Resolved } from './resolved.js'

/**
 * @typedef {import('../client/operators-schema.ts').components['schemas']['OperationWithTimeline']} Operation
 * @typedef {{ operation: Operation, path: string, done: () => void }} Props
 * @typedef {Props & { onToggle: (isOpen: boolean) => void }} ChangeProps
 */

/** @param {Props} props */
export function Resolution({ operation, path, done }) {
  const [held, hold] = useState(/** @type {Operation | undefined} */ (undefined))
  const wasUnknown = operation.resolution !== null || findResolving(operation.timeline)
  if (operation.status !== 'unknown' && !wasUnknown && !held) return null
  // An open dialog keeps its operation and proposal: the page is read again meanwhile.
  const open = held ?? operation
  const onToggle = (/** @type {boolean} */ isOpen) => hold(isOpen ? operation : undefined)
  const props = { operation: open, path, done, onToggle }
  return html`
    <h2>The outcome</h2>
    ${
      operation.status === 'unknown'
        ? html`<${Evidence} operation=${operation} />`
        : html`<${Resolved} operation=${operation} />`
    }
    ${
      open.status === 'unknown' &&
      html`
        ${open.proposal !== null && html`<${Proposal} ...${{ ...props, proposal: open.proposal }} />`}
        <p>Look it up first. A claim is for what no lookup can find.</p>
        <p class="buttons">
          <${Happened} ...${props} />
          <${DidNotHappen} ...${props} />
        </p>
      `
    }
  `
}

/** @param {{ operation: Operation }} props */
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
    ['Looked up next', html`<${NextLookUp} at=${operation.next_check_at} />`],
    ['Finding', html`<${Id} id=${finding?.id} />`],
  ]
  return html`
    <${Facts} facts=${facts} />
    ${found !== undefined && html`<${Sides} finding=${found} />`}
    ${
      evidence !== null &&
      html`<p>Claimed, and not yet looked up:</p>
        <${Members} value=${evidence} label="What an operator claimed" />`
    }
    ${resolution !== null && html`<${LastClaim} resolution=${resolution} />`}
  `
}

/** The schedule is the latest time: events and reads bring lookups, too. @param {{ at: string | null }} props */
function NextLookUp({ at }) {
  const sooner = 'when the provider sends an event about it, or its client reads the payment'
  if (at === null) return `By no schedule any more: only on request, or ${sooner}.`
  if (Date.parse(at) <= Date.now()) return 'Now, by the next worker that is free.'
  return html`<${Time} at=${at} /> at the latest; sooner ${sooner}.`
}

/** @param {ChangeProps & { proposal: NonNullable<Operation['proposal']> }} props */
function Proposal({ proposal, operation, path, done, onToggle }) {
  const { session } = useSession()
  const { proposed_by: proposer, proposed, consequences } = proposal
  const isOwn = session?.operator === proposer
  return html`<section class="note" aria-label="Open proposal">
    <p>
      <strong><bdi>${proposer}</bdi></strong> proposed this on${' '}
      <${Time} at=${proposal.proposed_at} />. ${' '}
      ${
        isOwn
          ? 'Another operator must confirm it'
          : 'It counts when an operator other than the one who proposed it confirms it'
      }
      ${' '}until <${Time} at=${proposal.expires_at} />.
    </p>
    <${Members} value=${proposed} label="The proposed resolution" />
    <${Consequences} of=${consequences} />
    ${
      !isOwn &&
      consequences.refused === null &&
      html`<p class="buttons">
        <${Action}
          label="Confirm the proposal"
          title="Confirm this resolution?"
          danger=${true}
          run=${() => change('POST', `${path}/resolve`, proposed)}
          done=${done}
          show=${showResult}
          onToggle=${onToggle}
        >
          <${Subject} operation=${operation} />
          <p>You state the same as <bdi>${proposer}</bdi>.</p>
          <${Consequences} of=${consequences} />
          <${Members} value=${proposed} label="What you confirm" />
        <//>
      </p>`
    }
  </section>`
}
