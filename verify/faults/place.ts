// A lane that runs are made on, and who lives there beside them.
import { Bystander } from './bystander.ts'
import type { Ground } from './ground.ts'
import type { Lane } from './lane.ts'

export interface Place {
  readonly lane: Lane
  readonly bystander: Bystander
}

export interface Settling {
  readonly ground: Pick<Ground, 'startLane'>
  /** Aborted when no more is wanted. */
  readonly signal: AbortSignal
  /** Whether the server and its disk may be struck. */
  readonly ownServer: boolean
}

/** On a machine that has too much to do its processes, or the first payment, can come too late. */
const TRIES = 3

/** @throws Error why the last of several lanes could not be started. */
export async function settleIn(
  { ground, signal, ownServer }: Settling,
  options: Parameters<Ground['startLane']>[0],
): Promise<Place> {
  for (let tries = 1; ; tries += 1) {
    try {
      const lane = await ground.startLane(options, ownServer)
      return { lane, bystander: await createOrLeave(lane, signal) }
    } catch (error) {
      if (tries === TRIES || signal.aborted) throw error
    }
  }
}

async function createOrLeave(lane: Lane, signal: AbortSignal): Promise<Bystander> {
  try {
    return await Bystander.create(lane, signal)
  } catch (error) {
    await lane.remove()
    throw error
  }
}
