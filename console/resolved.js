// How a doubt ended: by a lookup alone, or by what operators claimed and the verdict on it.
import { html } from './html.js'
import { findResolving, foundBy } from './lookups.js'
import { Members } from './members.js'
import { Facts, Status, Time } from './parts.js'

/**
 * @typedef {import('../client/operators-schema.ts').components['schemas']} Schemas
 * @typedef {NonNullable<Schemas['OperationWithTimeline']['resolution']>} Claim
 */

/** @param {{ operation: Schemas['OperationWithTimeline'] }} props */
export function Resolved({ operation: { resolution, status, timeline } }) {
  const lookUp = resolvingLookUp(timeline, resolution)
  const isLater = lookUp?.provider?.outcome === 'not_executed' && status === 'completed'
  return html`
    <p class="note">
      <strong>It is no longer unknown.</strong> ${' '}
      ${resolution?.taken === true ? byClaim(resolution) : withoutClaim(resolution)} ${' '}
      ${lookUp && html`The lookup of <${Time} at=${lookUp.recorded_at} />: ${foundBy(lookUp)}`}
      ${isLater && ' What came afterwards is in the timeline.'}
    </p>
    ${resolution !== null && html`<${LastClaim} resolution=${resolution} />`}
  `
}

/**
 * None when a claim took effect without an answer: what an earlier lookup found ended nothing.
 *
 * @param {Schemas['OperationWithTimeline']['timeline']} timeline @param {Claim | null} claim
 */
function resolvingLookUp(timeline, claim) {
  const lookUp = findResolving(timeline)
  const isUnseen = claim?.taken === true && claim.verdict === 'unverifiable'
  return isUnseen && lookUp !== undefined && lookUp.recorded_at < claim.claimed_at
    ? undefined
    : lookUp
}

/** @param {Claim} claim */
const authorsOf = ({ proposed_by: proposer, claimed_by: claimant }) =>
  proposer === null ? claimant : `${proposer} and ${claimant}`

/** @param {Claim | null} claim one that was not acted on. */
const withoutClaim = (claim) =>
  claim === null ? 'No claim of an operator was needed.' : 'The last claim was not acted on.'

/** @param {Claim} claim */
function byClaim(claim) {
  const what = claim.claimed['outcome'] === 'happened' ? 'it happened' : 'it did not happen'
  return html`<bdi>${authorsOf(claim)}</bdi> stated that ${what}. ${claim.effect}`
}

/** @param {{ resolution: Claim }} props */
export function LastClaim({ resolution }) {
  const { verdict, taken, claimed, claimed_at: at, shown, effect } = resolution
  /** @type {[string, unknown][]} */
  const facts = [
    ['Claimed by', html`<bdi>${authorsOf(resolution)}</bdi>`],
    ['Claimed at', html`<${Time} at=${at} />`],
    ['Verdict of the lookup', html`<${Status} status=${verdict ?? 'pending'} />`],
    ['Acted on', taken === null ? 'not yet' : taken ? 'yes' : 'no'],
    ['The lookup', shown ?? html`<span class="quiet">not yet made</span>`],
    ['What followed', effect ?? html`<span class="quiet">nothing yet</span>`],
    ['Claim', html`<${Members} value=${claimed} label="The claim" />`],
  ]
  return html`<h3>Last claim</h3>
    <${Facts} facts=${facts} />`
}
