// Shares lists among lookups: one list serves all lookups that begin within a moment of each
// other and whose windows nearly agree, because Stripe limits reads. A list begins after the lookups
// that it serves, never before: it proves to each of them what a list of its own would.
import type { Json } from '../../provider-text.ts'
import { type IsMatch, readMatches, type ListReading } from './pages.ts'

/** By the time of creation, in seconds since 1970. Both ends are included. */
export interface CreatedWithin {
  readonly from: number
  readonly to: number
}

/** Reads a list that covers the window. `within` is the window that was listed. */
export type ReadSharedList = (
  within: CreatedWithin,
  isMatch: IsMatch,
) => Promise<ListReading & { readonly within: CreatedWithin }>

/** How long a lookup waits for others. It is short compared with the time of a request. */
const GATHER_MS = 50

interface LookUp {
  readonly within: CreatedWithin
  readonly isMatch: IsMatch
  readonly resolve: (reading: Awaited<ReturnType<ReadSharedList>>) => void
}

/** @param pagesWithin the pages of a list, which throw if it cannot be read to its end. */
export function shareLists(
  pagesWithin: (within: CreatedWithin) => AsyncIterable<readonly Json[]>,
): ReadSharedList {
  let gathering: LookUp[] = []
  const readGathered = () => {
    const gathered = gathering
    gathering = []
    for (const { within, lookUps } of groupOverlapping(gathered)) {
      const matchers = lookUps.map(({ isMatch }) => isMatch)
      void readMatches(pagesWithin(within), matchers).then((readings) =>
        readings.forEach((reading, index) => lookUps[index]?.resolve({ ...reading, within })),
      )
    }
  }
  return (within, isMatch) =>
    new Promise((resolve) => {
      gathering.push({ within, isMatch, resolve })
      if (gathering.length === 1) setTimeout(readGathered, GATHER_MS)
    })
}

interface Group {
  readonly within: CreatedWithin
  readonly lookUps: readonly LookUp[]
}

/**
 * The most by which sharing may lengthen the window of a lookup, in seconds: one that covers a whole
 * day must not make the short ones wait for its pages.
 */
const LONGER_BY_MOST = 60 * 60

/** Windows far apart stay apart: one list of both would read all that lies between them. */
function groupOverlapping(lookUps: readonly LookUp[]): Group[] {
  const groups: Group[] = []
  for (const lookUp of lookUps.toSorted((one, other) => one.within.from - other.within.from)) {
    const index = groups.findIndex((group) => fitsInto(group, lookUp))
    const group = groups[index]
    if (group === undefined) {
      groups.push({ within: lookUp.within, lookUps: [lookUp] })
    } else {
      groups[index] = { within: unionOf(group, lookUp), lookUps: [...group.lookUps, lookUp] }
    }
  }
  return groups
}

function fitsInto(group: Group, lookUp: LookUp): boolean {
  const lengths = [lookUp, ...group.lookUps].map(({ within }) => within.to - within.from)
  const { from, to } = unionOf(group, lookUp)
  return lookUp.within.from <= group.within.to && to - from <= Math.min(...lengths) + LONGER_BY_MOST
}

/** The windows of a group begin in order. */
function unionOf(group: Group, { within }: LookUp): CreatedWithin {
  return { from: group.within.from, to: Math.max(group.within.to, within.to) }
}
