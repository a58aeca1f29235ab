#include "planner/search/search.h"
