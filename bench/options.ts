// Parses command-line options: rejects unknown options and numbers outside their bounds.
import { parseArgs, type ParseArgsConfig } from 'node:util'

export class UsageError extends Error {
  override name = 'UsageError'
}

/** @throws UsageError when an option is unknown or lacks its value. */
export function parseOptions<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

interface Bounds {
  readonly usual: number
  readonly min: number
  readonly max: number
}

/** @throws UsageError when the text is not a whole number within the bounds. */
export function readNumber(
  name: string,
  text: string | undefined,
  { usual, min, max }: Bounds,
): number {
  if (text === undefined) return usual
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${name} must be a whole number from ${min} to ${max}`)
}
