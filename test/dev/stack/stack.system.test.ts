// Tests the launcher of `npm start` with real processes, and the commands of an operator beside it, which find
// its database, provider, keys and port in its data folder.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { get, paymentBody, post, postPayment, type ApiResponse } from '../../support/client.ts'
import { postLogIn } from '../../support/console.ts'
import { compileCache, programOf } from '../../support/programs.ts'
import { startReceiver } from '../../support/receiver.ts'
import { launch, processesOf, startStack, type RunningStack } from '../../support/stack.ts'
import { makeTemporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

async function pay(stack: RunningStack, key: string): Promise<ApiResponse> {
  return postPayment(stack.url, stack.tenant, paymentBody(), { key })
}

/** Retries with the same idempotency key until the response is final, as a client does. */
async function payUntilFinal(stack: RunningStack, key: string): Promise<ApiResponse> {
  return await until(async () => {
    const answer = await pay(stack, key).catch(() => undefined)
    return (answer?.status === 201 || answer?.status === 402) && answer
  })
}

function postgresPidFile(folder: string): string {
  return join(folder, 'data', 'postgres', 'cluster', 'postmaster.pid')
}

async function killPart({ launcher, folder }: RunningStack, part: string): Promise<void> {
  const pid =
    part === 'postgres'
      ? Number.parseInt(await readFile(postgresPidFile(folder), 'utf8'), 10)
      : processesOf(launcher, part).at(-1)
  if (pid === undefined) throw new Error(`the ${part} was not started`)
  process.kill(pid, 'SIGKILL')
  await launcher.waitForLine((line) => line.startsWith(part) && line.includes('restarting'))
}

function operatorKey({ launcher }: RunningStack): string {
  const printed = launcher.lines.find((line) => line.startsWith('Operator key')) ?? ''
  return / (adm_[0-9a-f]{40})$/.exec(printed)?.[1] ?? ''
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Runs a command as its npm script does, with DATA_DIR alone. */
async function run(
  { folder }: RunningStack,
  script: string,
  args: string[],
  settings: Record<string, string> = {},
) {
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: compileCache(),
    DATA_DIR: join(folder, 'data'),
    ...settings,
  }
  return await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      [programOf(script), ...args],
      { cwd: ROOT, env },
      (_, out, err) => resolve({ code: child.exitCode ?? -1, stdout: out, stderr: err }),
    )
  })
}

/** The lease of a killed worker expires soon, and the stack generates its keys. */
const SETTINGS = { PROVIDER_TIMEOUT_MS: '1000', LEASE_MS: '2000', ENCRYPTION_KEYS: '' }

let shared: string

beforeAll(async () => {
  shared = await makeTemporaryFolder()
})

test('leaves no process behind when it is stopped during the first start', async () => {
  const launcher = launch({ DATA_DIR: join(shared, 'data'), ...SETTINGS })
  await launcher.waitForLine((line) => line.includes('migrating'))

  launcher.kill('SIGTERM')

  expect(await launcher.exited).toEqual({ code: 0, signal: null })
  expect(processesOf(launcher, 'worker')).toEqual([])
  expect(existsSync(postgresPidFile(shared))).toBe(false)
})

describe('a running stack', () => {
  let stack: RunningStack

  beforeAll(async () => {
    stack = await startStack(shared, SETTINGS)
  })

  test('creates a payment with the demo key and replays it', async () => {
    const key = randomUUID()
    const first = await pay(stack, key)
    const second = await pay(stack, key)
    expect(first).toMatchObject({ status: 201, json: { status: 'succeeded', amount: 1999 } })
    expect(second.text).toBe(first.text)
  })

  describe('the commands of an operator beside it, without a setting of their own', () => {
    test('tenants lists its tenant', async () => {
      const { code, stdout, stderr } = await run(stack, 'src/start/tenants.ts', ['list'])

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/tnt_\w+/)
    })

    test('doctor reaches its database and its provider', async () => {
      const { stdout } = await run(stack, 'src/start/doctor.ts', ['--json'])

      const checks = JSON.parse(stdout) as { name: string; verdict: string; found: string }[]
      const found = (name: string) => checks.find((check) => check.name === name)
      expect(found('migrations')).toMatchObject({ verdict: 'ok' })
      expect(JSON.stringify(checks)).not.toContain('is not set')
      expect(JSON.stringify(checks)).not.toContain('ECONNREFUSED')
    })

    test('reconcile compares with its stand-in', async () => {
      const { code, stdout, stderr } = await run(stack, 'src/start/reconcile.ts', [])

      expect(stderr).not.toContain('reconcile:')
      expect(code).toBe(0)
      expect(stdout).toContain('No open findings.')
    })

    test('atomic finds its port and its key', async () => {
      const { code, stdout } = await run(stack, 'cli/main.ts', ['unknown'])

      expect({ code, stdout }).toEqual({ code: 0, stdout: '0 with an unknown outcome\n' })
    })

    test('another database of the environment is not mixed with it', async () => {
      const DATABASE_URL = 'postgres://nothing@127.0.0.1:9/none'
      const { code, stderr } = await run(stack, 'src/start/tenants.ts', ['list'], { DATABASE_URL })

      expect(code).toBe(1)
      expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    })
  })

  test('completes a 3-D Secure payment after the authentication', async () => {
    const method = { payment_method: 'pm_card_threeDSecure2Required' }
    const { json } = await postPayment(stack.url, stack.tenant, paymentBody(method))
    const { id, provider } = json as { id: string; provider: { payment_id: string } }
    const printed = stack.launcher.lines.find((line) => line.includes('/_control/executed')) ?? ''
    const control = /http:\/\/\S+\/_control/.exec(printed)?.[0]

    await fetch(`${control}/payment_intents/${provider.payment_id}/authenticate`, {
      method: 'POST',
      body: JSON.stringify({ outcome: 'succeed' }),
    })

    const path = `/v1/payments/${id}`
    const isPaid = async () =>
      (await get(stack.url, stack.tenant, path)).json['status'] === 'succeeded'
    await until(isPaid)
  })

  test('prints a command for a first payment and the URLs of its result', () => {
    const printed = stack.launcher.lines.join('\n')
    expect(printed).toContain(`curl -i ${stack.url}/v1/payments \\\n`)
    expect(printed).toContain(`-H 'Authorization: Bearer ${stack.tenant.apiKey}' \\\n`)
    expect(printed).toMatch(/-H 'Idempotency-Key: [0-9a-f-]{36}' \\\n/)
    expect(printed).toMatch(/http:\/\/127\.0\.0\.1:\d+\/_control\/executed/)
  })

  test('prints and serves the metrics URLs of the API and the workers', async () => {
    const groups = { api: [], worker: ['payments', 'maintenance'], webhooks: ['webhooks'] }
    for (const [part, own] of Object.entries(groups)) {
      const line = await stack.launcher.waitForLine((candidate) =>
        new RegExp(`^${part} .* metrics at http`).test(candidate),
      )
      const response = await fetch(/http:\S+\/metrics/.exec(line)?.[0] ?? '')
      const text = await response.text()
      expect(text).toContain('atomic_payments_')
      const found = [...text.matchAll(/^atomic_payments_worker_queues\{group="(\w+)"/gm)]
      expect(found.map(([, group]) => group)).toEqual(own)
    }
  })

  test('delivers webhooks in a process of their own, whose end delays no payment', async () => {
    const receiver = await startReceiver()
    const { url, tenant, launcher } = stack
    await post(url, tenant, '/v1/webhook-endpoints', { url: receiver.url })
    const isDelivered = ({ json }: ApiResponse) =>
      receiver.received.some(
        ({ body }) => body.includes(String(json['id'])) && body.includes('"payment.succeeded"'),
      )
    const first = await pay(stack, randomUUID())
    await until(() => isDelivered(first))
    const [worker] = processesOf(launcher, 'worker')

    await killPart(stack, 'webhooks')
    const payment = await pay(stack, randomUUID())

    await until(() => isDelivered(payment))
    await receiver.stop()
    expect(payment.status).toBe(201)
    expect(processesOf(launcher, 'webhooks')).toHaveLength(2)
    expect(processesOf(launcher, 'worker')).toEqual([worker])
  })

  test('serves the console, which accepts the printed operator key', async () => {
    const { operator } = (await postLogIn(stack.url, { key: operatorKey(stack) })).json
    const page = await fetch(`${stack.url}/console`)

    expect(operator).toBe('admin')
    expect(page.status).toBe(200)
    expect(stack.launcher.lines.join('\n')).toContain(`${stack.url}/console\n`)
  })

  test('prefixes each log line with the name of its part and prints no JSON', () => {
    const lines = stack.launcher.lines.filter((line) => line.includes(' | '))
    const names = new Set(lines.map((line) => line.split(' ')[0]))
    expect(names).toEqual(new Set(['stack', 'postgres', 'provider', 'worker', 'api', 'webhooks']))
    expect(stack.launcher.lines.filter((line) => line.includes('{"level"'))).toEqual([])
  })

  // test/dev/break-it/page.system.test.ts does the same to the worker and the API.
  test('restarts the provider and PostgreSQL after SIGKILL, and payments succeed again', async () => {
    for (const part of ['provider', 'postgres']) {
      await killPart(stack, part)
      const answer = await payUntilFinal(stack, randomUUID())
      expect({ part, status: answer.status }).toEqual({ part, status: 201 })
    }
  })

  test('refuses a second launcher with the same DATA_DIR', async () => {
    const second = launch({ DATA_DIR: join(stack.folder, 'data') })
    expect(await second.exited).toEqual({ code: 1, signal: null })
    expect(second.lines.join('\n')).toContain('another "npm start" runs with DATA_DIR')
    expect((await pay(stack, randomUUID())).status).toBe(201)
  })

  describe('whose launcher was killed', () => {
    let payment: ApiResponse
    let keyBefore: string
    const key = randomUUID()

    beforeAll(async () => {
      payment = await pay(stack, key)
      keyBefore = stack.tenant.apiKey
      stack.launcher.kill('SIGKILL')
      await stack.launcher.exited
    })

    test.each([
      ['tenants', 'src/start/tenants.ts', ['list']],
      ['reconcile', 'src/start/reconcile.ts', []],
      ['doctor', 'src/start/doctor.ts', []],
    ])('%s says in one line what is missing', async (_, script, args) => {
      const { code, stdout, stderr } = await run(stack, script, args)

      expect(code).toBeGreaterThan(0)
      const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('DATABASE_URL'))
      expect(said).toHaveLength(1)
      expect(`${stdout}${stderr}`).toContain('npm start')
    })

    test('serves the earlier payments when it is started again', async () => {
      stack = await startStack(stack.folder, SETTINGS)
      const found = await get(stack.url, stack.tenant, `/v1/payments/${String(payment.json['id'])}`)

      expect(stack.tenant.apiKey).toBe(keyBefore)
      expect(found).toMatchObject({ status: 200, json: payment.json })
      // The answer is stored encrypted.
      expect((await pay(stack, key)).text).toBe(payment.text)
    })

    test('stops all parts in order when npm forwards the SIGINT of a Ctrl-C', async () => {
      const { launcher, folder } = stack
      await launcher.waitForLine((line) => /^webhooks .* working/.test(line))
      const parts = ['worker', 'api', 'webhooks', 'provider']
      const pids = parts.flatMap((part) => processesOf(launcher, part))

      launcher.kill('SIGINT')
      launcher.kill('SIGINT')

      expect(await launcher.exited).toEqual({ code: 0, signal: null })
      expect(pids.filter(isRunning)).toEqual([])
      expect(existsSync(postgresPidFile(folder))).toBe(false)
      expect(existsSync(join(folder, 'data', 'running-stack.json'))).toBe(false)
      const stopped = launcher.lines.filter((line) => /stopped|is shut down/.test(line))
      const order = stopped.map((line) => line.split(' ')[0])
      expect(order).toEqual(['webhooks', 'api', 'worker', 'provider', 'postgres', 'stack'])
    })

    test('kills a part that does not stop after SIGTERM on a Ctrl-C', async () => {
      const launcher = launch({ DATA_DIR: join(stack.folder, 'data'), ...SETTINGS })
      // By then the provider handles SIGTERM, which could end it otherwise while SIGSTOP stops its threads.
      await launcher.waitForLine((line) => /^worker .* started as process/.test(line))
      const [provider = 0] = processesOf(launcher, 'provider')
      const server = Number.parseInt(await readFile(postgresPidFile(stack.folder), 'utf8'), 10)
      process.kill(provider, 'SIGSTOP')
      launcher.kill('SIGTERM')
      await launcher.waitForLine((line) => line.startsWith('stack') && line.endsWith('stopping'))

      // A signal within the first second would count as the same keystroke.
      await delay(1_000)
      expect([provider, server].filter(isRunning)).toEqual([provider, server])
      launcher.kill('SIGINT')

      expect(await launcher.exited).toEqual({ code: 0, signal: null })
      expect([provider, server].filter(isRunning)).toEqual([])
    })

    test('names the variable of a port that stays in use', async () => {
      const owner = createServer().listen(0, '127.0.0.1')
      await once(owner, 'listening')
      const { port } = owner.address() as AddressInfo

      const launcher = launch({
        DATA_DIR: join(stack.folder, 'data'),
        ...SETTINGS,
        PORT: String(port),
      })

      expect(await launcher.exited).toEqual({ code: 1, signal: null })
      expect(launcher.lines.at(-1)).toContain(`npm start: PORT=${port} cannot be used`)
      owner.close()
    })
  })
})

test('prints the usage and exits with 0 for --help', async () => {
  const launcher = launch({}, ['--help'])
  expect(await launcher.exited).toEqual({ code: 0, signal: null })
  expect(launcher.lines[0]).toMatch(/^Usage: npm start/)
})

test.each(['--fast', 'now'])('exits with 2 and the usage for the argument %s', async (argument) => {
  const launcher = launch({}, [argument])
  expect(await launcher.exited).toEqual({ code: 2, signal: null })
  expect(launcher.lines[0]).toContain(argument)
  expect(launcher.lines.join('\n')).toContain('Usage: npm start')
})

test('names an invalid setting without a stack trace', async () => {
  const launcher = launch({ PORT: 'high' })
  expect(await launcher.exited).toEqual({ code: 1, signal: null })
  expect(launcher.lines.join('\n')).toMatch(/^npm start: Wrong settings[^]*PORT/)
  expect(launcher.lines.join('\n')).not.toContain(' at ')
})
