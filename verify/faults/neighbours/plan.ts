// Plans the runs with neighbours. A quick plan has a smaller backlog, and everything else.
import type { Case } from '../case.ts'
import type { PlanOptions } from '../plan.ts'
import { neighbours } from './scenarios.ts'

const BACKLOGS = { quick: 'noisy-neighbour', full: 'noisy-neighbour.full' }

export function planNeighbours({ quick }: Pick<PlanOptions, 'quick'>): Case[] {
  const leftOut = quick ? BACKLOGS.full : BACKLOGS.quick
  return neighbours
    .filter(({ name }) => name !== leftOut)
    .map(({ name }): Case => ({ scenario: name, injections: [] }))
}
