// Defines a tool: what an agent reads about it, and what it does with the client of the API.
import { z } from 'zod'
import type { Client } from '../client/index.ts'
import type { Told } from './told.ts'

/** https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations */
interface ToolAnnotations {
  readonly title: string
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
  readonly openWorldHint: boolean
}

export interface Tool<Input extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string
  readonly description: string
  readonly annotations: ToolAnnotations
  readonly input: Input
  readonly run: (client: Client, input: z.output<z.ZodObject<Input>>) => Promise<Told>
}

/** Checks that the function takes what the schema gives. */
export function defineTool<Input extends z.ZodRawShape>(tool: Tool<Input>): Tool {
  return tool as unknown as Tool
}

/**
 * The schema of a tool's arguments. It refuses arguments that the tool does not have: one that was
 * dropped may be the one that keeps a card from being charged.
 */
export function inputSchemaOf({ name, input }: Tool): z.ZodObject {
  const known = Object.keys(input)
  return z.strictObject(input, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${issue.keys.map((key) => noSuchArgument(name, key, known)).join(' ')} ${name} takes ${known.join(', ')}. Nothing was executed.`
        : undefined,
  })
}

function noSuchArgument(tool: string, key: string, known: readonly string[]): string {
  const right = known.find((other) => isNameOf(lettersOf(key), lettersOf(other)))
  const advice = right === undefined ? '' : `: use ${right}`
  return `${tool} has no argument ${JSON.stringify(key.slice(0, NAME_SHOWN))}${advice}.`
}

/** More would be no name. */
const NAME_SHOWN = 40

const lettersOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]/g, '')

/** Such as `capture` or `captureMethod` for `capture_method`. */
function isNameOf(given: string, known: string): boolean {
  return given !== '' && (known.includes(given) || given.includes(known))
}

/** It only reads. Reading twice finds the same, unless something else has changed it. */
export const reads = { readOnlyHint: true, destructiveHint: false, idempotentHint: true } as const

/**
 * It moves or releases money, which no other call puts back as it was. The same call again does
 * nothing more.
 */
export const moves = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: true,
} as const
