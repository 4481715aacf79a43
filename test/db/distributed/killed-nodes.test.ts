// The service on a real Citus, whose nodes are killed while a shop's traffic runs.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { citusUrl, killNode, listNodes } from '../../support/citus.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'
import { startProcess } from '../../support/processes.ts'
import { startService, type Service } from '../../support/service.ts'

const describeOnCitus = citusUrl() === undefined ? describe.skip : describe

const SETTINGS = {
  // Unknown outcomes are looked up soon.
  CALL_ATTEMPTS: '2',
  JOB_RETRY_LIMIT: '1',
  PROVIDER_OUTAGE_SECONDS: '0',
  CHECK_DELAYS_SECONDS: '1,3,6,9,15,30,60',
  CHECK_ON_READ_SECONDS: '1',
  PROVIDER_SETTLE_SECONDS: '5',
  // One tenant sends everything.
  RATE_LIMIT_WRITES: '1000000',
  MAX_ACTIVE_KEYS: '1000000',
}
const LIMIT_MS = 500_000

describeOnCitus('on Citus', () => {
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await createTestDatabase({ inParts: true })
    service = await startService(SETTINGS, database.url)
  }, LIMIT_MS)
  afterAll(async () => {
    await service.stop()
    await database.drop()
  })

  test(
    'every invariant holds although each node is killed, and the coordinator too',
    async () => {
      const { apiKey } = await service.createTenant()
      const places = ['--url', service.apiUrl, '--provider-url', service.providerUrl]
      const run = startProcess('verify/simulate/main.ts', {
        args: ['--payments', '600', '--faults', '--api-key', apiKey, ...places],
      })
      await run.waitForLine((line) => line.startsWith('Sending:'), LIMIT_MS)
      const nodes = await listNodes()
      for (const node of nodes) await killNode(node)

      expect(run.lines.some((line) => line.startsWith('Outcomes'))).toBe(false)
      expect(await run.exited).toEqual({ code: 0, signal: null })
      expect(run.lines.at(-1)).toBe('OK: all 12 invariants hold')
    },
    LIMIT_MS,
  )
})
