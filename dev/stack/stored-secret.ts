// Stores generated secrets in the data folder, in files that only their owner can read.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writePrivately } from '../../src/start/private-file.ts'

/** Reads the secret from a file of the folder. Creates the file when it does not exist. */
export async function readOrCreateSecret(
  folder: string,
  name: string,
  make: () => string,
): Promise<string> {
  const file = join(folder, name)
  if (!existsSync(file)) await writePrivately(file, make())
  return readFile(file, 'utf8')
}

/** Generates a secret of 160 bits: the prefix, then 40 hexadecimal digits. */
export function generateSecret(prefix: string): string {
  return `${prefix}${randomBytes(20).toString('hex')}`
}
