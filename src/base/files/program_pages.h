/* The pages of our own program and its libraries. */
#pragma once

/* Those of code and constants leave our memory; what is needed again comes back, with what lies around it. What a program needs to start is
 * more than what it needs to go on. */
void program_pages_forget(void);
