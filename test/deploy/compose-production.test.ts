// Checks deploy/docker-compose.production.yml: it starts no stand-in, has no default for a secret, and
// fits the settings, scripts and ports of the repository.
import { describe, expect, test } from '@jest/globals'
import {
  environmentOf,
  interpolate,
  readCompose,
  SECRETS,
  settingsOf,
  type ComposeService,
} from './compose.ts'
const { text, compose } = readCompose('deploy/docker-compose.production.yml')
const services = Object.entries(compose.services)
const processes = ['api', 'worker', 'webhook-worker']

interface Variable {
  readonly name: string
  /** The default. Undefined when nothing starts without the variable. */
  readonly fallback?: string
}

/** Returns the variables that a Compose file takes from the environment. */
function variablesOf(file: string): Variable[] {
  const withoutComments = file.replaceAll(/^ *#.*$/gm, '')
  return [...withoutComments.matchAll(/\$\{?(\w+)(?:(:?[-?])([^}]*))?/g)].map(
    ([, name = '', operator, rest = '']) =>
      operator?.endsWith('?') === true ? { name } : { name, fallback: rest },
  )
}

/** Returns the secrets for which a Compose file has a value. Blank counts as unset. */
function defaultSecrets(file: string): string[] {
  const secret = /KEY|SECRET|PASSWORD|TOKEN|HEADERS|DATABASE_URL/
  return variablesOf(file)
    .filter(({ name, fallback = '' }) => secret.test(name) && fallback !== '')
    .map(({ name }) => name)
}

function serviceNamed(name: string): ComposeService {
  const service = compose.services[name]
  if (service === undefined) throw new Error(`there is no service ${name}`)
  return service
}

const environmentNamed = (name: string, variables = SECRETS) =>
  environmentOf(serviceNamed(name), variables)

const settingsNamed = (name: string) => settingsOf(serviceNamed(name), SECRETS)

describe('secrets', () => {
  test('have no default', () => {
    expect(defaultSecrets(text)).toEqual([])
  })

  test('are required, each of them', () => {
    const required = variablesOf(text).filter(({ fallback }) => fallback === undefined)

    expect(new Set(required.map(({ name }) => name))).toEqual(new Set(Object.keys(SECRETS)))
    for (const missing of Object.keys(SECRETS)) {
      const environment = { ...SECRETS, [missing]: '' }
      const interpolateAll = () => services.map(([name]) => environmentNamed(name, environment))
      expect(interpolateAll).toThrow(missing)
    }
  })

  test('are known only to the processes that need them', () => {
    const holders = (value: string) =>
      services
        .map(([name]) => name)
        .filter((name) => Object.values(environmentNamed(name)).includes(value))

    expect(Object.keys(SECRETS).map((name) => [name, holders(SECRETS[name] ?? '')])).toEqual([
      ['OWNER_DATABASE_URL', ['migrate', 'tenants', 'rotate-encryption']],
      ['DATABASE_URL', ['worker', 'webhook-worker', 'api', 'reconcile']],
      ['ENCRYPTION_KEYS', ['worker', 'webhook-worker', 'api', 'reconcile', 'rotate-encryption']],
      ['STRIPE_SECRET_KEY', ['worker', 'reconcile']],
      ['STRIPE_WEBHOOK_SECRET', ['api']],
      ['ADMIN_API_KEY', ['api']],
    ])
  })
})

test('starts only processes of the service: no database and no stand-in', () => {
  expect(services.map(([name, { profiles = [] }]) => [name, ...profiles])).toEqual([
    ['migrate'],
    ['worker'],
    ['webhook-worker'],
    ['api'],
    ['tenants', 'tools'],
    ['reconcile', 'tools'],
    ['rotate-encryption', 'tools'],
  ])
  for (const [, { build, image }] of services) {
    expect(build).toEqual({ context: '..', target: 'service' })
    expect(interpolate(image, {})).toBe('atomic-payments')
  }
  expect(text).not.toMatch(/mock|stripe-stand-in|WEBHOOK_ALLOW_INSECURE|STRIPE_API_BASE/i)
})

describe.each(services)('%s', (name, service) => {
  test('mounts only certificates, and cannot write them', () => {
    expect(service.volumes).toEqual([expect.stringMatching(/:\/certificates:ro$/)])
  })

  test('is restarted and checked, unless it exits by itself', () => {
    const isProcess = processes.includes(name)

    expect(service['restart']).toBe(isProcess ? 'unless-stopped' : 'no')
    if (!isProcess) expect(service.healthcheck).toEqual({ disable: true })
  })

  test('waits for the migration, unless it is the migration', () => {
    const { migrate } = service.depends_on ?? {}

    if (name === 'migrate') expect(service.depends_on).toBeUndefined()
    else expect(migrate).toEqual({ condition: 'service_completed_successfully' })
  })
})

test('the API starts after the workers, which must know every operation that it accepts', () => {
  expect(serviceNamed('api').depends_on?.['worker']).toEqual({ condition: 'service_healthy' })
})

test('the published ports are the listening ones', () => {
  const published = (name: string) =>
    serviceNamed(name).ports?.map((port) => Number(port.split(':').at(-1)))
  const [api, worker, webhooks] = [
    settingsNamed('api'),
    settingsNamed('worker'),
    settingsNamed('webhook-worker'),
  ]

  expect(published('api')).toEqual([api.PORT, api.METRICS_PORT])
  expect(published('worker')).toEqual([worker.METRICS_PORT])
  expect(published('webhook-worker')).toEqual([webhooks.METRICS_PORT])
})

test('the health check of the workers asks for their own metrics', () => {
  for (const name of ['worker', 'webhook-worker']) {
    const [, program, , code = ''] = serviceNamed(name).healthcheck?.test ?? []
    expect(program).toBe('node')
    expect(code).toContain("'http://127.0.0.1:' + process.env.METRICS_PORT + '/metrics'")
    // Compose would interpolate it.
    expect(code).not.toContain('$')
  }
})

test('the API trusts one proxy, and no client can connect past it', () => {
  expect(settingsNamed('api').TRUST_PROXY).toBe(1)
  expect(serviceNamed('api').ports?.every((port) => port.startsWith('127.0.0.1:'))).toBe(true)
})
