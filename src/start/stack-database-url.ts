// Stores the URL of the running embedded PostgreSQL in the data folder, for processes that are
// started apart from the stack (the dashboard of the queues).
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivately } from './private-file.ts'

const fileOf = (folder: string): string => join(folder, 'database-url')

/** Writes the URL, readable for the file's owner only, because it contains a password. */
export async function leaveDatabaseUrl(folder: string, url: string): Promise<void> {
  await writePrivately(fileOf(folder), url)
}

export async function removeDatabaseUrl(folder: string): Promise<void> {
  await rm(fileOf(folder), { force: true })
}

/** Undefined when no stack runs with this folder. After a crash, the file may be left over. */
export async function findDatabaseUrl(folder: string): Promise<string | undefined> {
  const file = fileOf(folder)
  return existsSync(file) ? readFile(file, 'utf8') : undefined
}
