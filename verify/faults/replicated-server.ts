// Starts the server of a lane with a synchronous standby. One address leads to the primary, as with a
// load balancer or a name that moves: open connections stay where they are.
import { mkdir, rm } from 'node:fs/promises'
import { useCheapPasswordHash } from '../../dev/embedded-postgres/cheap-password-hash.ts'
import { startCuttableRelay } from '../../test/support/cuttable-relay.ts'
import { ReplicatedPostgres } from '../../test/support/replicated-postgres.ts'
import type { LaneServer } from './lane-options.ts'

export async function startReplicatedServer(
  folder: string,
): Promise<LaneServer & { remove(): Promise<void> }> {
  await mkdir(folder)
  const replicated = await ReplicatedPostgres.start({ folder, prepare: useCheapPasswordHash })
  const address = await startCuttableRelay(() => replicated.primary.relay.port)
  return {
    url: (database) => replicated.urlAt([address.port], database),
    replicated,
    async remove() {
      await Promise.all([replicated.stop(), address.close()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}
