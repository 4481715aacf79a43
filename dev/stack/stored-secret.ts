// Secrets that the stack makes at its first start and keeps in its data folder, for its owner alone.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivately } from '../../src/start/private-file.ts'

/** The secret in that file of the folder; it is made when there is none. */
export async function readOrCreateSecret(
  folder: string,
  name: string,
  make: () => string,
): Promise<string> {
  const file = join(folder, name)
  if (!existsSync(file)) await writePrivately(file, make())
  return readFile(file, 'utf8')
}

/** A secret of 160 bits: the prefix and 40 hexadecimal digits. */
export function generateSecret(prefix: string): string {
  return `${prefix}${randomBytes(20).toString('hex')}`
}
