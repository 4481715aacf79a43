// Compares records of the provider with ours, one page at a time. A difference counts only if a second look
// at both sides still shows it, so that normal traffic never causes one.
import type { ComparedId } from '../db/reconciliation/compared-records.ts'
import { recordCompared } from '../db/reconciliation/reconciliation-runs.ts'
import type { OnRepeat, Window } from '../provider/payment-provider.ts'
import {
  countInMotion,
  eachPage,
  follow,
  nameTenants,
  withRetries,
  report,
  requestCheck,
  throwIfEnded,
  untilStopped,
  type Comparison,
} from './comparison.ts'
import {
  evidenceOf,
  judgeMissing,
  judgeRecord,
  type OurRecord,
  type RecordKind,
  type TheirRecord,
} from './judge-record.ts'
import type { Difference } from './verdict.ts'

/** Compares every record that the provider created in the window with ours. */
export async function compareListed<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
): Promise<void> {
  const { parts, run } = comparison
  const list = (window: Window, onRepeat: OnRepeat) => kind.list(parts.provider, window, onRepeat)
  await eachPage(comparison, kind.stage, list, async (page) => {
    await judgePage(comparison, kind, page)
    const ids = page.map((theirs) => kind.objectIdOf(theirs))
    await recordCompared(parts.store.sql, run.id, ids)
  })
}

/** Compares records of ours from the window that no page contained with the provider's. */
export async function compareUnseen<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
): Promise<void> {
  const { parts, run, counts } = comparison
  for await (const page of kind.walkMissing?.(parts.store.sql, run) ?? []) {
    await throwIfEnded(comparison)
    for (const ours of untilStopped(comparison, page)) {
      const objectId = kind.objectIdIn(ours)
      if (objectId === null) {
        counts.in_motion += 1
        continue
      }
      const theirs = await read(comparison, kind, objectId)
      if (theirs === undefined) await actOnMissing(comparison, kind, ours, objectId)
      else await judgePage(comparison, kind, [theirs])
      countOne(comparison, kind)
    }
  }
}

/** Compares records of ours that wait for the provider, also from before the window. */
export async function compareWaiting<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
): Promise<void> {
  const { parts, run } = comparison
  for await (const page of kind.walkWaiting?.(parts.store.sql, run) ?? []) {
    for (const objectId of untilStopped(comparison, page)) {
      await compareObject(comparison, kind, objectId)
      countOne(comparison, kind)
    }
  }
}

function countOne({ counts }: Comparison, { stage }: { stage?: 'payments' | 'refunds' }): void {
  if (stage !== undefined) counts[stage] += 1
}

async function read<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  objectId: string,
): Promise<Theirs | undefined> {
  return await withRetries(comparison, () => kind.read(comparison.parts.provider, objectId))
}

/** Reads the provider's record, and compares it. */
export async function compareObject<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  objectId: string,
): Promise<void> {
  const theirs = await read(comparison, kind, objectId)
  if (theirs !== undefined) await judgePage(comparison, kind, [theirs])
}

/** Judges records of the provider, from a list or read one by one. */
async function judgePage<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  page: readonly Theirs[],
): Promise<void> {
  const ourOf = await findOurs(comparison, kind, page)
  const differences: Difference[] = []
  for (const theirs of untilStopped(comparison, page)) {
    differences.push(...(await act(comparison, kind, ourOf(theirs), theirs)))
  }
  await report(comparison, differences)
}

/** Finds the record of ours that names the provider's; otherwise the one that the provider's names. */
async function findOurs<Ours extends OurRecord, Theirs extends TheirRecord>(
  { parts, run }: Comparison,
  kind: RecordKind<Ours, Theirs>,
  page: readonly Theirs[],
): Promise<(theirs: Theirs) => Ours | undefined> {
  const wanted = page.map((theirs) => ({
    objectId: kind.objectIdOf(theirs),
    named: namedBy(kind, theirs),
  }))
  const found = await kind.find(parts.store.sql, run.provider, wanted, page)
  const byObjectId = new Map(found.map((ours) => [kind.objectIdIn(ours), ours]))
  const byOurId = new Map(found.map((ours) => [ours.id, ours]))
  return (theirs) =>
    byObjectId.get(kind.objectIdOf(theirs)) ?? byOurId.get(namedBy(kind, theirs)?.id ?? '')
}

/** The record of ours that the provider's names. */
function namedBy<Ours extends OurRecord, Theirs extends TheirRecord>(
  kind: RecordKind<Ours, Theirs>,
  { correlation }: Theirs,
): ComparedId['named'] {
  if (correlation === null) return null
  const id = kind.ourIdIn(correlation)
  return id === null ? null : { tenantId: correlation.tenantId, id }
}

/** Acts on a verdict, and returns the differences that need an operator. */
async function act<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  ours: Ours | undefined,
  theirs: Theirs,
): Promise<Difference[]> {
  const verdict = judgeRecord(kind, ours, theirs)
  switch (verdict.verdict) {
    case 'agrees':
      return []
    case 'in_motion':
      await countInMotion(comparison, ours?.id)
      return []
    case 'unknown':
      if (ours !== undefined) await requestCheck(comparison, kind.subjectOf(ours))
      return []
    case 'moved_on':
    case 'differs': {
      if (ours !== undefined) return await actOnSecondLook(comparison, kind, ours, theirs)
      // Our row is written before the provider is called, so a missing row will not appear later.
      const differences = verdict.verdict === 'differs' ? verdict.differences : []
      return await nameTenants(
        comparison,
        differences.map((difference) => ({ difference, theirs })),
      )
    }
  }
}

/**
 * Reads the provider's record and then ours again. If ours has the same status as at the first
 * look, it did not change while the provider's was read, so a difference is not an effect of
 * reading at two moments.
 */
async function actOnSecondLook<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  before: Ours,
  seen: Theirs,
): Promise<Difference[]> {
  const { clock } = comparison.parts
  const theirs = await read(comparison, kind, kind.objectIdOf(seen))
  const ours = theirs && (await findOurs(comparison, kind, [theirs]))(theirs)
  if (ours === undefined || theirs === undefined || ours.status !== before.status) {
    comparison.counts.in_motion += 1
    return []
  }
  const verdict = judgeRecord(kind, ours, theirs)
  switch (verdict.verdict) {
    case 'differs': {
      const repair = kind.repairOf?.(ours, theirs, clock.now())
      const isRepaired = repair !== undefined && (await follow(comparison, repair))
      return isRepaired ? [] : [...verdict.differences]
    }
    case 'moved_on': {
      const event = kind.eventOf(ours, theirs, comparison.run, clock.now())
      if (await follow(comparison, event)) return []
      return [{ kind: 'status_differs', ...evidenceOf(kind, ours, theirs) }]
    }
    case 'agrees':
    case 'in_motion':
    case 'unknown':
      comparison.counts.in_motion += 1
      return []
  }
}

async function actOnMissing<Ours extends OurRecord, Theirs extends TheirRecord>(
  comparison: Comparison,
  kind: RecordKind<Ours, Theirs>,
  ours: Ours,
  objectId: string,
): Promise<void> {
  const verdict = judgeMissing(kind, ours, objectId)
  if (verdict.verdict === 'differs') await report(comparison, verdict.differences)
  else if (verdict.verdict === 'unknown') await requestCheck(comparison, kind.subjectOf(ours))
  else comparison.counts.in_motion += 1
}
