// Tests that the process for webhooks has no secret that only others need.
import { expect, test } from '@jest/globals'
import { WEBHOOKS_SETTINGS } from '../../../dev/stack/process-settings.ts'
import { configVariables, readConfig } from '../../../src/config.ts'

const OPERATORS = 'alice=adm_alice_0123456789abcdef0123,bob=adm_bob_0123456789abcdef012345'

test('the process for webhooks has no secret of the API, of payments or of operators', () => {
  const secrets = configVariables.filter((name) => /_(KEY|SECRET)$/.test(name))

  expect(secrets.length).toBeGreaterThan(3)
  expect(WEBHOOKS_SETTINGS).toMatchObject(Object.fromEntries(secrets.map((name) => [name, ''])))
})

test('it accepts an environment with dual control and a console of operators that it does not know', () => {
  const environment = { ADMIN_API_KEY: OPERATORS, ADMIN_DUAL_CONTROL: 'true', CONSOLE: 'on' }

  const config = readConfig({ ...environment, ...WEBHOOKS_SETTINGS })

  expect(config).toMatchObject({ WORKER_QUEUES: ['webhooks'], ADMIN_DUAL_CONTROL: false })
  expect(config.ADMIN_API_KEY).toBeUndefined()
})
