// Checks both Compose files against the schema of Compose, and docker-compose.yml against the settings,
// scripts and ports of the repository.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { configVariables } from '../../src/config.ts'
import {
  environmentOf,
  readCompose,
  ROOT,
  scriptOf,
  SECRETS,
  settingsOf,
  validateCompose,
  type ComposeService,
} from './compose.ts'
import { copiedPaths } from './dockerfile.ts'

const { text, compose } = readCompose('docker-compose.yml')
const services = Object.entries(compose.services)

const serviceNamed = (name: string): ComposeService => {
  const service = compose.services[name]
  if (service === undefined) throw new Error(`there is no service ${name}`)
  return service
}
const ofDevelopment = (name: string) => settingsOf(serviceNamed(name))

describe('the file', () => {
  test('would not conform with a misspelt setting', () => {
    const worker = { ...compose.services['worker'], comand: ['node'] }

    expect(validateCompose({ services: { worker } })).not.toEqual([])
  })

  test('has a default for each environment variable', () => {
    const variables = [...text.matchAll(/\$\{?(\w+)([^}\s]*)/g)]

    expect(variables.length).toBeGreaterThan(5)
    for (const [whole, , fallback] of variables)
      expect([whole, fallback]).toEqual([whole, expect.stringMatching(/^:?-/)])
  })
})

describe.each(services)('%s', (_name, service) => {
  test('waits only for services that can reach the awaited state', () => {
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      const awaited = compose.services[other]
      expect(awaited).toBeDefined()
      if (condition === 'service_healthy') expect(awaited?.healthcheck?.test).toBeDefined()
      if (condition === 'service_completed_successfully') expect(awaited?.['restart']).toBe('no')
    }
  })

  test('mounts only existing paths and volumes', () => {
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      if (source.startsWith('.')) expect(existsSync(join(ROOT, source))).toBe(true)
      else expect(Object.keys(compose.volumes ?? {})).toContain(source)
    }
  })
})

describe.each([
  ['docker-compose.yml', {}],
  ['deploy/docker-compose.production.yml', SECRETS],
])('%s', (file, variables) => {
  const own = readCompose(file).compose
  const built = Object.entries(own.services).filter(([, { build }]) => build !== undefined)

  test('conforms to the Compose specification', () => {
    expect(validateCompose(own)).toEqual([])
  })

  test('publishes ports only on the local machine', () => {
    const ports = Object.values(own.services).flatMap((service) => service.ports ?? [])

    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  describe.each(built)('%s', (name, service) => {
    test('runs a script that is in its image', () => {
      const script = scriptOf(service)

      expect(existsSync(join(ROOT, script))).toBe(true)
      const copied = copiedPaths(service.build?.target)
      expect(copied.some((path) => script.startsWith(`${path}/`))).toBe(true)
    })

    test('has known settings with valid values', () => {
      for (const variable of Object.keys(service.environment ?? {})) {
        // The service knows only some OpenTelemetry variables. Its SDK reads all of them.
        if (!variable.startsWith('OTEL_')) expect(configVariables).toContain(variable)
      }
      expect(() => settingsOf(service, variables)).not.toThrow()
    })

    test('has a health check, unless it exits by itself', () => {
      const { healthcheck } = service

      if (service['restart'] === 'no') expect(healthcheck).toEqual({ disable: true })
      else if (name !== 'api') expect(healthcheck?.test?.slice(0, 3)).toEqual(['CMD', 'node', '-e'])
    })

    test('has a stop grace period longer than its shutdown timeout', () => {
      const graceMs = Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1]) * 1_000

      expect(graceMs).toBeGreaterThan(settingsOf(service, variables).SHUTDOWN_TIMEOUT_MS)
    })

    test('may write only its data and gain no privileges', () => {
      expect(service).toMatchObject({
        init: true,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
    })
  })
})

describe('the parts fit', () => {
  const portOf = (url: string | undefined) => new URL(url ?? '').port

  test('all use the same database: the migration and the tenants command as its owner, the rest as the service', () => {
    const urls = ['migrate', 'tenants', 'api', 'worker', 'webhook-worker'].map(
      (name) => new URL(ofDevelopment(name).DATABASE_URL ?? ''),
    )

    expect(new Set(urls.map(({ host, pathname }) => host + pathname))).toEqual(
      new Set(['postgres:5432/atomic_payments']),
    )
    expect(urls.map(({ username }) => username)).toEqual([
      'postgres',
      'postgres',
      'atomic_payments_app',
      'atomic_payments_app',
      'atomic_payments_app',
    ])
  })

  test('the passwords match those of the database', () => {
    const { POSTGRES_PASSWORD, APP_PASSWORD, POSTGRES_DB } = environmentOf(serviceNamed('postgres'))
    const [owner, app] = ['migrate', 'api'].map(
      (name) => new URL(ofDevelopment(name).DATABASE_URL ?? ''),
    )

    expect([owner?.password, app?.password]).toEqual([POSTGRES_PASSWORD, APP_PASSWORD])
    expect(app?.pathname).toBe(`/${POSTGRES_DB}`)
  })

  test('the worker calls the Stripe stand-in, whose events reach the API with the shared secret', () => {
    const [api, worker, provider] = [
      ofDevelopment('api'),
      ofDevelopment('worker'),
      ofDevelopment('mock-provider'),
    ]

    expect(worker.STRIPE_API_BASE).toBe(`http://mock-provider:${provider.MOCK_PROVIDER_PORT}`)
    expect(worker.STRIPE_SECRET_KEY).toBe('sk_test_mock')
    expect(provider.MOCK_WEBHOOK_URL).toBe(`http://api:${api.PORT}/provider/webhooks`)
    expect(provider.STRIPE_WEBHOOK_SECRET).toBe(api.STRIPE_WEBHOOK_SECRET)
  })

  test('the two workers share the queues, and the one for webhooks knows no secret of payments', () => {
    const [worker, webhooks] = [ofDevelopment('worker'), ofDevelopment('webhook-worker')]

    expect(worker.WORKER_QUEUES).toEqual(['payments', 'maintenance'])
    expect(webhooks.WORKER_QUEUES).toEqual(['webhooks'])
    const known = Object.keys(compose.services['webhook-worker']?.environment ?? {})
    expect(known.filter((name) => /^STRIPE_|^ADMIN_/.test(name))).toEqual([])
  })

  test('the API, the workers and the rotation have the same encryption keys', () => {
    const keysOf = (name: string) => compose.services[name]?.environment?.['ENCRYPTION_KEYS']

    expect(ofDevelopment('api').ENCRYPTION_KEYS?.[0].name).toBe('development')
    const others = ['worker', 'webhook-worker', 'rotate-encryption']
    expect(others.map(keysOf)).toEqual(others.map(() => keysOf('api')))
  })

  test('with no address or a blank one, as in .env.example, no key is sent to Stripe', () => {
    const { environment } = compose.services['worker'] ?? {}

    expect(environment?.['STRIPE_API_BASE']).toBe('${STRIPE_API_BASE:-http://mock-provider:3100}')
    expect(text).toContain('STRIPE_API_BASE=https://api.stripe.com')
  })

  test('the published, checked and called ports are the listening ones', () => {
    const api = ofDevelopment('api')
    const checked = (name: string) =>
      portOf(
        /fetch\('([^']+)'\)/.exec(compose.services[name]?.healthcheck?.test?.at(-1) ?? '')?.[1],
      )

    expect(compose.services['api']?.ports?.[0]?.split(':').at(-1)).toBe(String(api.PORT))
    for (const worker of ['worker', 'webhook-worker'])
      expect(checked(worker)).toBe(String(ofDevelopment(worker).METRICS_PORT))
    expect(checked('mock-provider')).toBe(String(ofDevelopment('mock-provider').MOCK_PROVIDER_PORT))
  })

  test.each(['api', 'worker', 'webhook-worker'])(
    '%s sends traces only to the endpoint of the environment',
    (name) => {
      const service = serviceNamed(name)
      const passedOn = Object.entries(service.environment ?? {}).filter(([variable]) =>
        variable.startsWith('OTEL_'),
      )

      expect(passedOn).toEqual(passedOn.map(([variable]) => [variable, `\${${variable}:-}`]))
      const known = configVariables.filter((variable) => variable.startsWith('OTEL_'))
      // A common name would merge API and worker in the traces.
      const unnamed = known.filter((variable) => variable !== 'OTEL_SERVICE_NAME')
      expect(passedOn.map(([variable]) => variable)).toEqual(expect.arrayContaining(unnamed))
      const set = Object.keys(ofDevelopment(name)).filter((variable) =>
        variable.startsWith('OTEL_'),
      )
      expect(set).toEqual([])
    },
  )

  test('two processes of each kind fit into PostgreSQL’s default of 100 connections', () => {
    const pools = ['api', 'worker', 'webhook-worker'].map(
      (name) => ofDevelopment(name).DATABASE_POOL_SIZE,
    )
    // Connections of pg-boss and the listeners.
    const besides = 14

    expect(2 * (pools.reduce((sum, size) => sum + size, 0) + besides)).toBeLessThan(97)
  })
})
