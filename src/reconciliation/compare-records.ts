// Compares records of the provider with ours, one page at a time. A difference counts only if a second look
// at both sides still shows it, so that normal traffic never causes one.
import { findProviderEvent, storeProviderEvent } from '../db/events/provider-events.ts'
import type { ProviderEvent } from '../domain/events/provider-event.ts'
import { recordCompared } from './compared-objects.ts'
import {
  eachPage,
  logRepeats,
  nameTenant,
  report,
  requestCheck,
  throwIfEnded,
  withRetries,
  type Comparison,
} from './comparison.ts'
import {
  differencesIn,
  judgeMissing,
  judgeRecord,
  type Difference,
  type OurRecord,
  type RecordKind,
  type TheirRecord,
} from './judge-record.ts'
import { comparedIdsOf, findRecords, walkMissingRecords, walkWaiting } from './our-records.ts'

/** Compares every record that the provider created in the window with ours. */
export async function compareListed(comparison: Comparison, kind: RecordKind): Promise<void> {
  const { sql, provider, run } = comparison
  const pages = kind.list(provider, run, logRepeats(comparison))
  const stage = kind.table === 'disputes' ? undefined : kind.table
  await eachPage(comparison, stage, pages, async (page) => {
    await judgePage(comparison, kind, page)
    await recordCompared(
      sql,
      run.id,
      page.map((theirs) => kind.objectIdOf(theirs)),
    )
  })
}

/** Compares records of ours from the window that no page contained with the provider's. */
export async function compareUnseen(comparison: Comparison, kind: RecordKind): Promise<void> {
  const { sql, run, counts, signal } = comparison
  for await (const page of walkMissingRecords(sql, run, kind.table)) {
    await throwIfEnded(comparison)
    for (const ours of page) {
      signal.throwIfAborted()
      const objectId = kind.objectIdIn(ours)
      if (objectId === null) {
        counts.in_motion += 1
        continue
      }
      const isThere = await compareObject(comparison, kind, objectId)
      if (!isThere) await actOnMissing(comparison, kind, ours, objectId)
      if (kind.table !== 'disputes') counts[kind.table] += 1
    }
  }
}

/** Compares records of ours that wait for the provider, also from before the window. */
export async function compareWaiting(comparison: Comparison, kind: RecordKind): Promise<void> {
  const { sql, run, counts, signal } = comparison
  const isWaiting = kind.isWaiting?.(sql, run) ?? sql`false`
  for await (const objectId of walkWaiting(sql, run, kind.table, isWaiting)) {
    signal.throwIfAborted()
    await compareObject(comparison, kind, objectId)
    if (kind.table !== 'disputes') counts[kind.table] += 1
  }
}

/** Reads the provider's record, and compares it. Returns whether there is one. */
export async function compareObject(
  comparison: Comparison,
  kind: RecordKind,
  objectId: string,
): Promise<boolean> {
  const theirs = await withRetries(comparison, () => kind.read(comparison.provider, objectId))
  if (theirs !== undefined) await judgePage(comparison, kind, [theirs])
  return theirs !== undefined
}

/** Judges records of the provider, from a list or read one by one. */
async function judgePage(
  comparison: Comparison,
  kind: RecordKind,
  page: readonly TheirRecord[],
): Promise<void> {
  const ourOf = await findOurs(comparison, kind, page)
  const differences: Difference[] = []
  for (const theirs of page) {
    // Each may need a read at the provider.
    comparison.signal.throwIfAborted()
    differences.push(...(await act(comparison, kind, ourOf(theirs), theirs)))
  }
  await report(comparison, differences)
}

/** Finds the record of ours that names the provider's; otherwise the one that the provider's names. */
async function findOurs(
  { sql, run }: Comparison,
  kind: RecordKind,
  page: readonly TheirRecord[],
): Promise<(theirs: TheirRecord) => OurRecord | undefined> {
  const wanted = page.flatMap((theirs) =>
    comparedIdsOf(kind.objectIdOf(theirs), theirs.correlation, kind.ourIdIn(theirs)),
  )
  const found =
    (await kind.find?.(sql, run.provider, wanted, page)) ??
    (await findRecords(sql, kind.table, run.provider, wanted))
  const byObjectId = new Map(found.map((ours) => [kind.objectIdIn(ours), ours]))
  const byOurId = new Map(found.map((ours) => [ours.id, ours]))
  return (theirs) =>
    byObjectId.get(kind.objectIdOf(theirs)) ?? byOurId.get(kind.ourIdIn(theirs) ?? '')
}

/** Acts on a verdict, and returns the differences that need an operator. */
async function act(
  comparison: Comparison,
  kind: RecordKind,
  ours: OurRecord | undefined,
  theirs: TheirRecord,
): Promise<readonly Difference[]> {
  const { sql, run, counts } = comparison
  const verdict = judgeRecord(kind, ours, theirs)
  if (ours === undefined) {
    // Our row is written before the provider is called, so a missing row will not appear later.
    return await nameTenant(comparison, differencesIn(['missing_here'], kind, ours, theirs), theirs)
  }
  if (verdict === 'in_motion') {
    counts.in_motion += 1
    // Ours may not know the provider's id yet, and is counted once.
    await recordCompared(sql, run.id, [ours.id])
  } else if (verdict === 'unknown') {
    await requestCheck(comparison, kind.subjectOf(ours))
  } else if (verdict.length > 0) {
    return await actOnSecondLook(comparison, kind, ours, theirs)
  }
  return []
}

/**
 * Reads the provider's record and then ours again. If ours has the same status as at the first
 * look, it did not change while the provider's was read, so a difference is not an effect of
 * reading at two moments.
 */
async function actOnSecondLook(
  comparison: Comparison,
  kind: RecordKind,
  before: OurRecord,
  seen: TheirRecord,
): Promise<readonly Difference[]> {
  const { provider, counts } = comparison
  const theirs = await withRetries(comparison, () => kind.read(provider, kind.objectIdOf(seen)))
  const ours = theirs && (await findOurs(comparison, kind, [theirs]))(theirs)
  const isSame = theirs !== undefined && ours?.status === before.status
  const verdict = isSame ? judgeRecord(kind, ours, theirs) : 'in_motion'
  if (!isSame || verdict === 'in_motion' || verdict === 'unknown' || verdict.length === 0) {
    counts.in_motion += 1
    return []
  }
  const isAhead = verdict === 'moved_on'
  const state = isAhead ? kind.stateOf(ours, theirs) : kind.objectIdOf(theirs)
  const isFollowed =
    (isAhead || kind.canRepair?.(ours, theirs)) &&
    (await follow(comparison, kind, ours, theirs, state))
  if (isFollowed) return []
  return differencesIn(isAhead ? ['status_differs'] : verdict, kind, ours, theirs)
}

/**
 * Makes the usual phases follow the provider, by an event of our own. False if an earlier event about
 * this state was applied in vain: then it is a difference.
 */
async function follow(
  { sql, run, clock, counts }: Comparison,
  kind: RecordKind,
  ours: OurRecord,
  theirs: TheirRecord,
  state: string,
): Promise<boolean> {
  const objectId = kind.objectIdOf(theirs)
  const { tenantId, paymentId } = kind.subjectOf(ours)
  const isOfDispute = kind.table === 'disputes'
  const event: ProviderEvent = {
    provider: run.provider,
    id: `comparison_${isOfDispute ? objectId : ours.id}_${state}`,
    type: 'comparison',
    about: isOfDispute ? 'dispute' : 'payment',
    objectId,
    providerPaymentId: theirs.providerPaymentId,
    subject: isOfDispute ? null : { tenantId, paymentId },
    occurredAt: clock.now(),
  }
  const isNew = await storeProviderEvent(sql, event)
  if (isNew) counts.repaired += 1
  return isNew || (await findProviderEvent(sql, event))?.status === 'pending'
}

async function actOnMissing(
  comparison: Comparison,
  kind: RecordKind,
  ours: OurRecord,
  objectId: string,
): Promise<void> {
  const verdict = judgeMissing(ours)
  const subject = kind.subjectOf(ours)
  if (verdict === 'in_motion') comparison.counts.in_motion += 1
  else if (verdict === 'unknown') await requestCheck(comparison, subject)
  else {
    const shown = { objectId, subject, ours: kind.describeOurs(ours), theirs: null }
    await report(comparison, [{ kind: 'missing_there', ...shown }])
  }
}
