// The settings of a running `npm start`, stored in its data folder, and read by the commands that an
// operator runs beside it: which database, provider and encryption key it has chosen by itself.
import { existsSync } from 'node:fs'
import { readFile, rm, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readConfig, type Config } from '../config.ts'

type Settings = Readonly<Record<string, string>>

/** cli/connection.ts reads it too. */
const settingsFileOf = (folder: string): string => join(folder, 'running-stack.json')

/** Stores the settings, readable for the file's owner only, because they have secrets. */
export async function leaveStackSettings(folder: string, settings: Settings): Promise<void> {
  await writePrivately(settingsFileOf(folder), JSON.stringify({ pid: process.pid, settings }))
}

export async function removeStackSettings(folder: string): Promise<void> {
  await rm(settingsFileOf(folder), { force: true })
}

/**
 * The settings of the environment, and beside them those of the `npm start` that runs with the same
 * data folder. When the environment names another database, they are not mixed.
 *
 * @throws ConfigError when a setting is wrong.
 */
export async function readConfigBesideStack(): Promise<Config> {
  const config = readConfig()
  const stack = await findStackSettings(config.DATA_DIR)
  const { DATABASE_URL = stack?.['DATABASE_URL'] } = config
  if (stack === undefined || DATABASE_URL !== stack['DATABASE_URL']) return config
  return readConfig(undefined, stack)
}

/** Undefined when no stack runs with this folder. A crash leaves the file of an ended process. */
async function findStackSettings(folder: string): Promise<Settings | undefined> {
  const file = settingsFileOf(folder)
  if (!existsSync(file)) return undefined
  const { pid, settings } = JSON.parse(await readFile(file, 'utf8')) as {
    pid: number
    settings: Settings
  }
  return isRunning(pid) ? settings : undefined
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/**
 * Writes a file that only its owner may read. The rename makes it atomic, so a crash leaves no half
 * file.
 */
export async function writePrivately(file: string, text: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, text, { mode: 0o600 })
  await rename(unfinished, file)
}
