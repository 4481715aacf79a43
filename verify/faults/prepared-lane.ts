// Starts a lane together with its bystander, a tenant that takes no part in the runs.
import { Bystander } from './bystander.ts'
import type { Environment } from './environment.ts'
import type { Lane } from './lane.ts'

export interface PreparedLane {
  readonly lane: Lane
  readonly bystander: Bystander
}

export interface LanePreparation {
  readonly environment: Pick<Environment, 'startLane'>
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  /** Whether faults may affect the server and its disk. */
  readonly ownServer: boolean
}

/** On a busy machine the processes, or the first payment, may be too slow. */
const TRIES = 3

/** @throws Error of the last attempt when no lane could be started. */
export async function prepareLane(
  { environment, signal, ownServer }: LanePreparation,
  options: Parameters<Environment['startLane']>[0],
): Promise<PreparedLane> {
  for (let tries = 1; ; tries += 1) {
    try {
      const lane = await environment.startLane(options, ownServer)
      return { lane, bystander: await createBystander(lane, signal) }
    } catch (error) {
      if (tries === TRIES || signal.aborted) throw error
    }
  }
}

async function createBystander(lane: Lane, signal: AbortSignal): Promise<Bystander> {
  try {
    return await Bystander.create(lane, signal)
  } catch (error) {
    await lane.remove()
    throw error
  }
}
