// Opens a store with the rights of a worker, for the tests of what workers delete.
import { openStore, type Store } from '../../../src/db/connection/client.ts'
import { SERVICE_ROLE } from '../../../src/db/migrations/service-role.ts'

export function openServiceStore(url: string): Store {
  return openStore({
    url,
    applicationName: 'test retention',
    poolSize: 3,
    timeoutMs: 20_000,
    role: SERVICE_ROLE,
  })
}
