/* A program without CUDA that is linked to a library which has its runtime inside. */
/* SPDX-License-Identifier: Apache-2.0 */
int program_report(const char *who);

int main(void)
{
    return program_report("linked");
}
