// Defines a tool: what an agent reads about it, and what it does with the client of the API.
import type { z } from 'zod'
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
