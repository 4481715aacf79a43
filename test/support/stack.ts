// Starts the stack of `npm start` for a test file, on free ports.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Counts } from '../../dev/break-it/server.ts'
import { startProcess, type ServiceProcess } from './processes.ts'
import { programOf } from './programs.ts'

export interface RunningStack {
  readonly launcher: ServiceProcess
  readonly folder: string
  readonly url: string
  /** Of the page that breaks the stack, with its secret. */
  readonly breakItUrl: string
  readonly tenant: { readonly id: string; readonly apiKey: string }
}

const LAUNCHER = 'dev/stack/main.ts'
/** The scripts that the launcher starts. */
const PARTS = ['dev/stripe-stand-in/main.ts', 'src/start/api.ts', 'workers/main.ts']
const PRELOADED = new URL('parts-as-bundles.ts', import.meta.url).pathname

/** Settings with which the processes of `npm start` run as their bundles. */
export function asBundles(): Record<string, string> {
  const urls = [LAUNCHER, ...PARTS].map((script) =>
    [script, programOf(script)].map((path) => pathToFileURL(path)),
  )
  return {
    NODE_OPTIONS: `--import ${PRELOADED}`,
    TEST_BUNDLES: JSON.stringify(Object.fromEntries(urls)),
  }
}

export function launch(env: Record<string, string>, args: string[] = []): ServiceProcess {
  const ports = { PORT: '0', MOCK_PROVIDER_PORT: '0' }
  return startProcess(LAUNCHER, { args, env: { ...asBundles(), ...ports, ...env } })
}

/** Five processes start, one after the other, on cores that may be busy. */
const START_MS = 50_000

/** Returns when a payment can succeed. */
export async function startStack(
  folder: string,
  env: Record<string, string> = {},
): Promise<RunningStack> {
  const launcher = launch({ DATA_DIR: join(folder, 'data'), ...env })
  const ready = await launcher.waitForLine((line) => line.startsWith('ready '), START_MS)
  const printed = await launcher.waitForLine((line) => line.startsWith('API key'))
  const apiKey = printed.split(': ')[1] ?? ''
  const page = await launcher.waitForLine((line) => line.includes('?secret='))
  return {
    launcher,
    folder,
    url: ready.replace('ready ', ''),
    breakItUrl: page.trim().split(/\s+/).at(-1) ?? '',
    tenant: { id: '', apiKey },
  }
}

/** The cookie of each page. */
const cookies = new Map<string, string>()

async function cookieOf(breakItUrl: string): Promise<string> {
  const known = cookies.get(breakItUrl)
  if (known !== undefined) return known
  const { headers } = await fetch(breakItUrl, { redirect: 'manual' })
  const cookie = headers.getSetCookie()[0]?.split(';')[0] ?? ''
  cookies.set(breakItUrl, cookie)
  return cookie
}

/** The counts that the page shows. */
export async function readCounts({ breakItUrl }: RunningStack): Promise<Counts> {
  const headers = { cookie: await cookieOf(breakItUrl) }
  const response = await fetch(new URL('/break/counts', breakItUrl), { headers })
  return (await response.json()) as Counts
}

/** The process ids of a part, oldest first. */
export function processesOf(launcher: ServiceProcess, part: string): number[] {
  const started = new RegExp(`^${part} *\\| started as process (\\d+)$`)
  return launcher.lines.flatMap((line) => started.exec(line)?.[1] ?? []).map(Number)
}
