// Checks the systemd units against the repository, docs/systemd.md and systemd's own checks.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { configVariables, readConfig } from '../../src/config.ts'
import { ROOT } from './compose.ts'
import { copiedPaths } from './dockerfile.ts'
import { requireProgram } from '../support/find-program.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { testWith } from '../support/test-with.ts'

const FOLDER = join(ROOT, 'deploy/systemd')
const RELEASE = '/opt/atomic-payments/current'
const ENV_FOLDER = '/etc/atomic-payments/'

const testWithSystemd = testWith('systemd-analyze')

const page = readFileSync(join(ROOT, 'docs/systemd.md'), 'utf8')
const operations = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const names = readdirSync(FOLDER)
const MIGRATION = 'atomic-payments-migrate.service'
const processes = names.filter((name) => name !== MIGRATION)

function textOf(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8')
}

/** Returns the values of a setting in the order of the file. */
function valuesOf(name: string, setting: string): string[] {
  const lines = textOf(name).matchAll(/^(\w+)=(.*)$/gm)
  return [...lines].filter(([, key]) => key === setting).map(([, , value = '']) => value)
}

function valueOf(name: string, setting: string): string | undefined {
  const values = valuesOf(name, setting)
  expect(values.length).toBeLessThanOrEqual(1)
  return values[0]
}

/** Returns the environment that a unit itself sets, of the instance 3000. */
function environmentOf(name: string): Record<string, string> {
  const pairs = valuesOf(name, 'Environment').flatMap((value) => value.split(' '))
  return Object.fromEntries(
    pairs.map((pair) => pair.replaceAll('%i', '3000').split('=') as [string, string]),
  )
}

const filesOf = (name: string) =>
  valuesOf(name, 'EnvironmentFile').map((path) => path.slice(ENV_FOLDER.length))

/** Returns the settings that a file of the page contains. */
function contentOf(file: string): string[] {
  const row = page.split('\n').find((line) => line.startsWith(`| \`${file}\``)) ?? ''
  return [...row.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, setting = '']) => setting)
}

const SAMPLES: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://app:1@db/payments',
  ENCRYPTION_KEYS: `test:${Buffer.alloc(32).toString('base64')}`,
  STRIPE_WEBHOOK_SECRET: 'whsec_2',
  STRIPE_SECRET_KEY: 'rk_live_3',
  ADMIN_API_KEY: 'adm_alice_0123456789abcdef0123',
  TRUST_PROXY: 'loopback',
}

/** Returns the settings of a process of the unit. */
function settingsOf(name: string) {
  const set = filesOf(name).flatMap(contentOf)
  const { NODE_ENV: _, ...own } = environmentOf(name)
  return readConfig({ ...own, ...Object.fromEntries(set.map((key) => [key, SAMPLES[key]])) })
}

test('there is a unit for each process that runs always, and for the migration', () => {
  expect(names.toSorted()).toEqual([
    'atomic-payments-api@.service',
    MIGRATION,
    'atomic-payments-webhook-worker@.service',
    'atomic-payments-worker@.service',
  ])
})

describe.each(names)('%s', (name) => {
  test('runs a command without npm, from the files of a release', () => {
    const command = valueOf(name, 'ExecStart') ?? ''
    const [program, script = '', ...args] = command.split(' ')

    expect([program, args]).toEqual(['/usr/bin/node', []])
    expect(operations).toContain(`\`node ${script}\``)
    expect(existsSync(join(ROOT, script))).toBe(true)
    expect(copiedPaths().some((path) => script.startsWith(`${path}/`))).toBe(true)
    expect(valueOf(name, 'WorkingDirectory')).toBe(RELEASE)
  })

  test('sets only known settings, and no secret', () => {
    const { NODE_ENV, ...settings } = environmentOf(name)

    expect(NODE_ENV).toBe('production')
    for (const setting of Object.keys(settings)) {
      expect(configVariables).toContain(setting)
      expect(setting).not.toMatch(/SECRET|_KEY|URL/)
    }
    expect(textOf(name)).not.toMatch(/sk_|rk_|whsec_|adm_|postgres:\/\/|PASSWORD/)
  })

  test('reads its secrets from files that the page describes', () => {
    expect(filesOf(name).length).toBeGreaterThan(0)
    for (const file of filesOf(name)) {
      expect(contentOf(file).length).toBeGreaterThan(0)
      for (const setting of contentOf(file)) expect(configVariables).toContain(setting)
    }
    // A missing file must stop the start: a `-` before the path would ignore it.
    for (const path of valuesOf(name, 'EnvironmentFile')) expect(path).toMatch(/^\/etc\//)
    expect(() => settingsOf(name)).not.toThrow()
  })

  test('is restricted like the others', () => {
    const restrictions = (unit: string) =>
      textOf(unit)
        .split('\n\n')
        .find((part) => part.includes('DynamicUser='))
        ?.trim()

    expect(restrictions(name)).toBe(restrictions(MIGRATION))
    expect(restrictions(name)).toContain('NoNewPrivileges=yes\n')
    expect(restrictions(name)).toContain('ProtectSystem=strict\n')
    expect(restrictions(name)).toContain('PrivateTmp=yes\n')
  })

  testWithSystemd('systemd accepts it', async () => {
    expect(await verify(name, textOf(name))).toBe('')
  })

  testWithSystemd('systemd rates its restrictions', async () => {
    const unit = await makeUnit(name, textOf(name))
    const rate = (path: string, most: number) =>
      spawnSync(requireProgram('systemd-analyze'), [
        'security',
        '--offline=true',
        `--threshold=${most}`,
        path,
      ]).status

    // In tenths: 10 is exposed to everything.
    expect(rate(unit, 25)).toBe(0)
    const unrestricted = await makeUnit(
      name,
      textOf(name).replace(/DynamicUser=[^]*?\n\n|DynamicUser=[^]*$/, '\n'),
    )
    expect(rate(unrestricted, 25)).not.toBe(0)
  })
})

describe.each(processes)('%s', (name) => {
  test('is always restarted, without a limit of attempts', () => {
    expect(valueOf(name, 'Restart')).toBe('always')
    expect(valueOf(name, 'StartLimitIntervalSec')).toBe('0')
    expect(valueOf(name, 'WantedBy')).toBe('multi-user.target')
  })

  test('gets SIGTERM, and longer than its shutdown timeout before SIGKILL', () => {
    expect(valueOf(name, 'KillSignal')).toBe('SIGTERM')
    const timeoutMs = Number(valueOf(name, 'TimeoutStopSec')) * 1_000
    expect(timeoutMs).toBeGreaterThan(settingsOf(name).SHUTDOWN_TIMEOUT_MS)
  })

  test('starts after a migration that runs, and needs none', () => {
    expect(valueOf(name, 'After')?.split(' ')).toContain(MIGRATION)
    expect(textOf(name)).not.toMatch(/^(Requires|BindsTo)=/m)
  })

  test('leaves its own settings to the unit', () => {
    const inFiles = filesOf(name).flatMap(contentOf)

    for (const setting of Object.keys(environmentOf(name))) expect(inFiles).not.toContain(setting)
  })
})

test('the migration runs once, as the owner', () => {
  expect(valueOf(MIGRATION, 'Type')).toBe('oneshot')
  expect(valueOf(MIGRATION, 'Restart')).toBeUndefined()
  expect(valueOf(MIGRATION, 'WantedBy')).toBeUndefined()
})

test('each process has only the secrets that it needs', () => {
  expect(Object.fromEntries(names.map((name) => [name, filesOf(name)]))).toEqual({
    'atomic-payments-api@.service': ['service.env', 'api.env'],
    [MIGRATION]: ['owner.env'],
    'atomic-payments-webhook-worker@.service': ['service.env'],
    'atomic-payments-worker@.service': ['service.env', 'provider.env'],
  })
  expect(contentOf('service.env')).toEqual(['DATABASE_URL', 'ENCRYPTION_KEYS'])
})

test('the instance is the port', () => {
  const [api, worker, webhooks] = ['api', 'worker', 'webhook-worker'].map((kind) =>
    settingsOf(`atomic-payments-${kind}@.service`),
  )

  expect(api).toMatchObject({ PORT: 3_000, METRICS_PORT: 13_000 })
  expect(worker).toMatchObject({ METRICS_PORT: 3_000, WORKER_QUEUES: ['payments', 'maintenance'] })
  expect(webhooks).toMatchObject({ METRICS_PORT: 3_000, WORKER_QUEUES: ['webhooks'] })
})

testWithSystemd('systemd would notice a misspelt setting, and a missing program', async () => {
  const text = textOf(MIGRATION)

  expect(await verify(MIGRATION, text.replace('PrivateTmp=', 'PrivateTemp='))).toContain(
    'PrivateTemp',
  )
  expect(
    await verify(MIGRATION, text.replace('ExecStart=/usr/bin/node', 'ExecStart=/no/node')),
  ).toContain('/no/node')
})

/** Writes an instance of the unit, with the Node and the files of this repository. */
async function makeUnit(name: string, text: string): Promise<string> {
  const path = join(await makeTemporaryFolder(), name.replace('@', '@3000'))
  await writeFile(path, text.replace('/usr/bin/node', process.execPath).replace(RELEASE, ROOT))
  return path
}

/** Returns what systemd says about a unit. */
async function verify(name: string, text: string): Promise<string> {
  const unit = await makeUnit(name, text)
  const { stderr } = spawnSync(requireProgram('systemd-analyze'), [
    'verify',
    '--man=no',
    '--recursive-errors=no',
    unit,
  ])
  return String(stderr)
}
