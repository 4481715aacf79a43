// The service for test files that need no settings of their own and kill no process of it. All such
// files of one jest worker use one service after the other, so that it starts once. Import it to
// use it: each file has a tenant of its own, and the ledger is checked after each test.
import { afterAll, afterEach, beforeAll } from '@jest/globals'
import { startWorkerService } from './worker/worker-service.ts'
import { expectLedgerBalanced } from './ledger.ts'
import { connectService, type Service, type Tenant } from './service.ts'

export let service: Service
export let tenant: Tenant

beforeAll(async () => {
  service = connectService(await startWorkerService())
  tenant = await service.createTenant()
})

afterEach(() => expectLedgerBalanced(service.store))

afterAll(async () => {
  await service.control('DELETE', 'faults')
  await service.control('POST', 'webhooks', {
    url: null,
    lose: 0,
    duplicate: 0,
    shuffle: false,
    delay_ms: 0,
  })
  await service.stop()
})
