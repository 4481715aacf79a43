// Checks docker-compose.yml of Braintree against the file of the service that it extends.
import { expect, test } from '@jest/globals'
import { configVariables } from '../../../src/config.ts'
import { readCompose } from '../../../test/deploy/compose.ts'

const { compose } = readCompose('extras/braintree/docker-compose.yml')
const services = Object.entries(compose.services)

test('the keys are optional, and known to the processes that need them', () => {
  const service = readCompose('deploy/docker-compose.production.yml').compose

  expect(services.map(([name]) => name)).toEqual(['worker', 'api', 'reconcile'])
  expect(Object.keys(service.services)).toEqual(
    expect.arrayContaining(['worker', 'api', 'reconcile']),
  )
  for (const [, { environment = {} }] of services) {
    expect(environment['BRAINTREE_PRIVATE_KEY']).toBe('${BRAINTREE_PRIVATE_KEY:-}')
    for (const name of Object.keys(environment)) expect(configVariables).toContain(name)
  }
})
