// Opens a store with the rights of the service: row-level security applies, and history is
// append-only.
import { openStore, type Store } from '../../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../../src/config.ts'

export function openServiceStore(url: string, poolSize = 3): Store {
  return openStore({
    url,
    applicationName: 'test service',
    poolSize,
    timeoutMs: 20_000,
    role: SERVICE_ROLE,
  })
}
