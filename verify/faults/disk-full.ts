// A fault: the disk of the database is full for a while. The trigger of `need-pages.ts` makes every
// step of an operation fail meanwhile.
import { setTimeout as wait } from 'node:timers/promises'
import type { Store } from '../../src/db/connection/client.ts'
import type { FaultContext } from './fault.ts'
import type { Point } from './points.ts'
import type { Violation } from './results.ts'
import { countErrors, payAgain, untilRefused } from './shortage.ts'
import type { SmallDisk } from './small-disk.ts'
import type { Action } from './watch.ts'

const DISK_FULL = '53100'

/** How long the disk stays full after the first failed statement. */
const FULL_MS = 400

/** Fills the disk before the statement is executed, and frees it a while after one has failed. */
export function fillDisk(context: FaultContext, point: Point): Action {
  const { disk } = context.lane.options
  if (disk === undefined || typeof disk === 'string')
    throw new Error(`no disk: ${disk ?? 'shared'}`)
  const before = countErrors(context.lane, point.role, DISK_FULL)
  const filled = fill(context.lane.owner, disk)
  context.trackWork(filled.then(() => freeAgain(context, point, { disk, before })))
  return { do: 'wait', until: filled.then(() => 'pass') }
}

async function fill({ sql }: Store, disk: SmallDisk): Promise<void> {
  await sql`update fault_suite_disk set is_full = true`
  await disk.fill()
}

interface FilledDisk {
  readonly disk: SmallDisk
  /** How many such errors the process had before. */
  readonly before: number
}

async function freeAgain(
  context: FaultContext,
  { role }: Point,
  { disk, before }: FilledDisk,
): Promise<Violation[]> {
  const { lane } = context
  await untilRefused(context, role, DISK_FULL, { before })
  await wait(FULL_MS)
  await disk.free()
  const freeAt = performance.now()
  await lane.owner.sql`update fault_suite_disk set is_full = false`
  return await payAgain(context, freeAt)
}
