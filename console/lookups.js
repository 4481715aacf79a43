// What lookups at the provider found, in words.

/** @typedef {import('../client/operators-schema.ts').components['schemas']['PhaseRun']} Run */

/** @param {Run} run */
export const isLookUp = ({ provider }) => provider?.kind === 'look'

/** @type {Record<string, string>} */
const FOUND = {
  done: 'the provider shows that it happened.',
  declined: 'the provider shows that it was refused.',
  not_executed: 'the provider shows that it had not happened.',
}

/** @param {Run} run a lookup. */
export function foundBy({ provider }) {
  const message = provider?.answered?.['message']
  const why = typeof message === 'string' ? `: ${message}` : ''
  return FOUND[provider?.outcome ?? ''] ?? `the lookup found no outcome${why}.`
}

/**
 * The lookup that ended a doubt: the last one with an outcome, after one that was lost.
 *
 * @param {readonly Run[]} timeline
 * @returns {Run | undefined}
 */
export function findResolving(timeline) {
  const place = timeline.findLastIndex(
    (run) => isLookUp(run) && run.provider?.outcome !== 'unknown',
  )
  const wasLost = timeline.slice(0, place).some(({ provider }) => provider?.outcome === 'unknown')
  return place >= 0 && wasLost ? timeline[place] : undefined
}
