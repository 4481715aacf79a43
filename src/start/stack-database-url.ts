// Where the embedded PostgreSQL listens while it runs, left in the data folder for those who start apart
// from the stack, such as the dashboard of the queues.
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivately } from './private-file.ts'

const fileOf = (folder: string): string => join(folder, 'database-url')

/** Leaves the URL, which has a password in it, for the folder's owner alone. */
export async function leaveDatabaseUrl(folder: string, url: string): Promise<void> {
  await writePrivately(fileOf(folder), url)
}

export async function removeDatabaseUrl(folder: string): Promise<void> {
  await rm(fileOf(folder), { force: true })
}

/** Undefined when no stack runs with that folder. One that was killed may have left it behind. */
export async function findDatabaseUrl(folder: string): Promise<string | undefined> {
  const file = fileOf(folder)
  return existsSync(file) ? readFile(file, 'utf8') : undefined
}
